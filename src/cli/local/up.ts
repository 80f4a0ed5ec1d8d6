// `holdfast up`: the command. What it starts is wired in bin/, which may import everything.
import { type Command, Option } from "commander";

import { collected, ReadingCommand } from "../cluster-command.ts";
import type { Output } from "../program.ts";
import { defaultFolder } from "./up-folder.ts";

export interface UpOptions {
  readonly data: string;
  readonly host: string;
  readonly port: number;
  readonly example: boolean;
  /** NAMESPACE/NAD=INTERFACE: managed DHCP is served there, by this process. */
  readonly dhcp: readonly string[];
  /** Of its DHCP, on loopback. */
  readonly metricsPort: number;
}

/** Runs until it is told to stop. */
export type Up = (options: UpOptions, output: Output) => Promise<void>;

export function upCommand(output: Output, up: Up): Command {
  return new ReadingCommand("up")
    .description(
      "Run Holdfast on this machine, on its own Kubernetes API, until Ctrl-C. For one machine; clusters use their own API server.",
    )
    .option("--data <folder>", "where its database and its kubeconfig are kept (default: ~/.local/state/holdfast)")
    .option(
      "--host <address>",
      "address to listen on; whoever reaches it and has the token may do everything",
      "127.0.0.1",
    )
    .number("--port", "port to listen on; 0 takes a free one", 65_535, 7443)
    .option("--no-example", "do not make the example network")
    .addOption(
      new Option(
        "--dhcp <namespace/name=interface>",
        "serve managed DHCP for this network on this interface, as `holdfast agent` does; may be repeated; needs CAP_NET_RAW",
      )
        .argParser(collected)
        .default([], "none"),
    )
    .number("--metrics-port", "with --dhcp: port of /leases and /metrics on loopback; 0 takes a free one", 65_535, 0)
    .action(({ data = defaultFolder(), ...options }: Omit<UpOptions, "data"> & { readonly data?: string }) =>
      up({ ...options, data }, output),
    );
}
