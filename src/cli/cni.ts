// `holdfast cni install`: puts the plugin where a container runtime looks for it.
import { Command } from "commander";

import { defaultSocket, defaultSpool } from "../cni/protocol/limits.ts";
import { install, type InstallOptions, type ShimSource } from "../cni/shim/install/install.ts";
import { InstallError } from "../cni/shim/install/plan.ts";
import { collected, UsageError } from "./cluster-command.ts";
import type { Output } from "./program.ts";

/** What has no default may be absent. */
type InstallFlags = Omit<InstallOptions, "names"> & { readonly name: string; readonly alsoAs: readonly string[] };

export function cniCommand(output: Output, shims: ShimSource): Command {
  return new Command("cni").description("The CNI plugin on this host.").addCommand(installCommand(output, shims));
}

function installCommand(output: Output, shims: ShimSource): Command {
  return new Command("install")
    .description(
      "Put the plugin, and on request a network configuration, where the container runtime looks for them. " +
        "Files appear whole or not at all; a plugin that is running is not disturbed; running it again changes nothing.",
    )
    .option("--bin-dir <folder>", "where the runtime looks for plugins", "/opt/cni/bin")
    .option("--name <name>", "what the plugin is called: the `type` of configurations", "holdfast")
    .option("--also-as <name>", "a further name, as `whereabouts`; may be repeated", collected, [])
    .option("--socket <path>", `where \`holdfast node\` listens (default: ${defaultSocket})`)
    .option(
      "--spool <folder>",
      `where a DEL is kept while no daemon runs: \`spool\` in the --state of \`holdfast node\` (default: ${defaultSpool})`,
    )
    .option("--fallback", "install the plugin that runs on Node, even where the native one runs", false)
    .option("--node <path>", "the host's Node for the fallback (default: the one that runs this command)")
    .option("--conf-dir <folder>", "where the runtime looks for network configurations", "/etc/cni/net.d")
    .option("--conf <file>", "a network configuration (.conf, .conflist) to put there")
    .option(
      "--whereabouts-kubeconfig <file>",
      "also write whereabouts.d/whereabouts.kubeconfig, and whereabouts.conf if there is none, for tools that read them",
    )
    .option("--root <folder>", "where the host's disk is mounted, in an init container", "/")
    .option("--force", "replace files that are not Holdfast's; a backup stays beside them", false)
    .option("--dry-run", "say what would be done, and do nothing", false)
    .action((flags: InstallFlags) => run(flags, output, shims));
}

async function run(flags: InstallFlags, output: Output, shims: ShimSource): Promise<void> {
  const { name, alsoAs, ...options } = flags;
  try {
    await install({ ...options, names: [name, ...alsoAs] }, shims, (line) => output.line(line));
  } catch (error) {
    if (error instanceof InstallError) throw new UsageError(error.message, 1, { cause: error });
    throw error;
  }
}
