// `holdfast adopt`: addresses of a VM's earlier life, after a restore from a backup or a move from another cluster.
import type { Command } from "commander";

import { ClusterCommand, type LookOptions, UsageError } from "./cluster-command.ts";
import type { Output } from "./program.ts";

interface AdoptBase extends LookOptions {
  readonly network?: string;
  readonly dryRun: boolean;
}

export type AdoptRequest =
  | (AdoptBase & { readonly kind: "owner"; readonly namespace: string; readonly vm: string; readonly from: string })
  | (AdoptBase & { readonly kind: "file"; readonly file: string; readonly namespace?: string; readonly vm?: string });
export type Adopt = (request: AdoptRequest, output: Output) => Promise<void>;

type Flags = AdoptBase & { readonly from?: string; readonly file?: string };

export function adoptCommand(output: Output, adopt: Adopt): Command {
  return new ClusterCommand("adopt")
    .description(
      "Give a VM the addresses that it had in an earlier life: after a restore from a backup, or from another cluster. All or nothing for each NIC; what is another's is refused.",
    )
    .argument("[namespace/vm]", "the VM as it is now; with --file it may be left out: then all that are in the file")
    .option("--from <uid>", "the UID that the VM had then, as its claim or its hold records it: the proof")
    .option("--file <path>", "what `holdfast claims export` wrote in the other cluster")
    .option("--network <name>", "this network of the VM only, by its name in the VM's spec")
    .option("--dry-run", "say what would be done, and change nothing", false)
    .systemNamespace()
    .examples(
      ["holdfast adopt shop/db --from 5956a54c-989c-414c-b5ba-55cae03a5ada", "restored from a backup, stopped"],
      ["holdfast adopt --file shop-claims.json --dry-run", "VMs that came from another cluster"],
    )
    .action((vm: string | undefined, flags: Flags) => adopt(requestOf(vm, flags), output));
}

function requestOf(text: string | undefined, { from, file, ...rest }: Flags): AdoptRequest {
  if ((from === undefined) === (file === undefined)) {
    throw new UsageError(
      "give one of --from, with the UID that the VM had, and --file, with what another cluster exported.",
    );
  }
  const vm = text === undefined ? undefined : machineOf(text);
  if (file !== undefined) return { kind: "file", file, ...rest, ...vm };
  if (vm === undefined)
    throw new UsageError("say which VM is to have the addresses: holdfast adopt NAMESPACE/VM --from UID.");
  if (!/^[0-9a-f-]{8,64}$/i.test(from!)) {
    throw new UsageError(`--from ${JSON.stringify(from)} is no UID: it is in the backup of the VM, as metadata.uid.`);
  }
  return { kind: "owner", from: from!, ...rest, ...vm };
}

function machineOf(text: string): { readonly namespace: string; readonly vm: string } {
  const [namespace = "", vm = "", ...more] = text.split("/");
  if (namespace !== "" && vm !== "" && more.length === 0) return { namespace, vm };
  throw new UsageError(`${JSON.stringify(text)} is no VM: write NAMESPACE/NAME.`);
}
