// `holdfast dhcp`: what goes over the wire.
import { Command } from "commander";

import { ReadingCommand, UsageError } from "../cluster-command.ts";
import type { Output } from "../program.ts";

export interface TraceOptions {
  readonly interface: string;
  readonly mac?: string;
  readonly write?: string;
  /** 0: no limit. */
  readonly count: number;
}

/** Prints until it is told to stop, or the count is reached. */
export type TraceDhcp = (options: TraceOptions, output: Output) => Promise<void>;

export function dhcpCommand(output: Output, trace: TraceDhcp): Command {
  return new Command("dhcp").description("Managed DHCP on the wire.").addCommand(
    new ReadingCommand("trace")
      .description(
        "Print the messages of DHCP and DHCPv6, and of IPv6 routers and neighbours, that pass an interface of this host, decoded, as they come: both directions, whoever sends them. Needs CAP_NET_RAW.",
      )
      .option("--interface <name>", "the interface: a VM's port, a bridge, the agent's eth1")
      .option("--mac <address>", "only messages of this client; of routers and neighbours, from or to it")
      .option("--write <file>", "write the frames to this file too, for Wireshark (pcap)")
      .number("--count", "end after so many messages; 0: go on until Ctrl-C", 1_000_000_000, 0)
      .action(({ interface: name, ...options }: Omit<TraceOptions, "interface"> & { readonly interface?: string }) => {
        if (name === undefined) throw new UsageError("--interface is missing: name one, as `ip link` prints it.");
        return trace({ ...options, interface: name }, output);
      }),
  );
}
