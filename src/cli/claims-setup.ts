// `holdfast claims install-crd` and `holdfast claims release-finalizers`: the first and the last command about claims in a cluster.
import type { Command } from "commander";

import { ClusterCommand, type LookOptions, type ConnectionOptions } from "./cluster-command.ts";
import type { Output } from "./program.ts";

interface InstallCrdRequest extends ConnectionOptions {
  readonly dryRun: boolean;
}

interface ReleaseFinalizersRequest extends LookOptions {
  readonly dryRun: boolean;
  readonly isConfirmed: boolean;
}

/** What bin/ wires. */
export interface ClaimsSetup {
  readonly installCrd: (request: InstallCrdRequest, output: Output) => Promise<void>;
  readonly releaseFinalizers: (request: ReleaseFinalizersRequest, output: Output) => Promise<void>;
}

export function installCrdCommand(output: Output, setup: ClaimsSetup): Command {
  return new ClusterCommand("install-crd")
    .description(
      "Give the cluster the kind IPAMClaim where it has none. One that is there is left as it is, unless it is an earlier one of ours.",
    )
    .option("--dry-run", "say what would be done, and write nothing", false)
    .action((request: InstallCrdRequest) => setup.installCrd(request, output));
}

type ReleaseFlags = Omit<ReleaseFinalizersRequest, "isConfirmed"> & { readonly yes: boolean };

export function releaseFinalizersCommand(output: Output, setup: ClaimsSetup): Command {
  return new ClusterCommand("release-finalizers")
    .description(
      "Before Holdfast is removed: take our finalizer off every claim, and keep the claims with their addresses. Refuses while a controller leads.",
    )
    .systemNamespace("where the controller's lease is")
    .option("--dry-run", "show which claims would be let go, and write nothing", false)
    .option("--yes", "confirm that nothing keeps these addresses with their VMs any more", false)
    .action(({ yes, ...flags }: ReleaseFlags) => setup.releaseFinalizers({ ...flags, isConfirmed: yes }, output));
}
