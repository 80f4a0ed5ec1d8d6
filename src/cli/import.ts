// `holdfast import`: the command. What it does is src/transfer's; the connection comes in bin/transfer.ts.
import { Command } from "commander";

import { ClusterCommand, type LookOptions } from "./cluster-command.ts";
import type { Output } from "./program.ts";

type ImportSource = "whereabouts" | "host-local" | "spiderpool";

export interface ImportRequest extends LookOptions {
  readonly source: ImportSource;
  readonly compare: boolean;
  readonly dryRun: boolean;
  readonly definition?: string;
  readonly folder?: string;
  readonly nodeName?: string;
}
export type Import = (request: ImportRequest, output: Output) => Promise<void>;

export function importCommand(output: Output, work: Import): Command {
  const action = (source: ImportSource) => (options: Omit<ImportRequest, "source">) =>
    work({ ...options, source }, output);
  return new Command("import")
    .description("Take over the addresses that another IPAM has given, without touching a pod.")
    .addCommand(
      commandOf("whereabouts")
        .description("Make a record for every entry of whereabouts' pools, where there is none.")
        .action(action("whereabouts")),
    )
    .addCommand(
      commandOf("host-local")
        .description("Take over the files of host-local on this node, into the pool of a definition.")
        .requiredOption("--definition <namespace/name>", "the definition that gives these addresses from now on")
        .requiredOption("--folder <path>", "host-local's folder of the network: /var/lib/cni/networks/NETWORK")
        .requiredOption("--node-name <name>", "the node whose folder it is")
        .action(action("host-local")),
    )
    .addCommand(
      commandOf("spiderpool")
        .description("Take over what Spiderpool's SpiderIPPools and SpiderEndpoints (v2beta1) say is in use.")
        .option(
          "--definition <namespace/name>",
          "the definition that gives these addresses from now on (default: the one whose range has them)",
        )
        .action(action("spiderpool")),
    );
}

function commandOf(name: string): ClusterCommand {
  return new ClusterCommand(name)
    .systemNamespace("where whereabouts keeps its pools")
    .option("--compare", "write nothing: compare what is recorded with what each running pod has", false)
    .option("--dry-run", "say what would be taken over, and write nothing", false);
}
