// `holdfast claims`: VMs, their addresses and states; moving claims to another cluster; taking over ipam-extensions'.
import { Command } from "commander";

import { type ClaimDetail, detailLines } from "../check/claims/detail.ts";
import { type ClaimFilter, type ClaimRow, claimLines } from "../check/claims/table.ts";
import {
  ClusterCommand,
  type ConnectionOptions,
  type LookOptions,
  type Printed,
  UsageError,
  print,
} from "./cluster-command.ts";
import type { Output } from "./program.ts";

export interface ClaimsRequest extends LookOptions {
  /** Undefined: of all. */
  readonly namespace?: string;
}

interface TakeoverRequest extends ClaimsRequest {
  readonly dryRun: boolean;
  readonly beside: boolean;
}

export interface ClaimsFound {
  readonly rows: readonly ClaimRow[];
  /** Where a claim was asked for by its name, and is there. */
  readonly details: readonly ClaimDetail[];
}

interface InstallCrdRequest extends ConnectionOptions {
  readonly dryRun: boolean;
}

interface ReleaseFinalizersRequest extends LookOptions {
  readonly dryRun: boolean;
  readonly isConfirmed: boolean;
}
export interface Claims {
  list(request: ClaimsRequest & ClaimFilter): Promise<ClaimsFound>;
  export(request: ClaimsRequest): Promise<object>;
  takeover(request: TakeoverRequest, output: Output): Promise<void>;
  installCrd(request: InstallCrdRequest, output: Output): Promise<void>;
  releaseFinalizers(request: ReleaseFinalizersRequest, output: Output): Promise<void>;
}

type ListFlags = ClaimsRequest & Printed & { readonly allNamespaces: boolean };

export function claimsCommand(output: Output, claims: Claims): Command {
  return new Command("claims")
    .description("Addresses that stay with virtual machines: whose they are, in which state, and moving them.")
    .addCommand(listCommand(output, claims), { isDefault: true })
    .addCommand(exportCommand(output, claims))
    .addCommand(takeoverCommand(output, claims))
    .addCommand(installCrdCommand(output, claims))
    .addCommand(releaseFinalizersCommand(output, claims));
}

const defaultNamespace = "default";

function listCommand(output: Output, claims: Claims): Command {
  return new ClusterCommand("list")
    .description(
      "Show claims, their VM, addresses, state, and the pods that use them. What `holdfast claims` does. With a name, one claim whole.",
    )
    .systemNamespace()
    .argument("[name]", "a claim, as db.blue; or a VM, all of whose claims are shown")
    .option("-n, --namespace <name>", `of this namespace (default: ${defaultNamespace})`)
    .option("-A, --all-namespaces", "of all namespaces", false)
    .printed()
    .examples(
      ["holdfast claims -A", "every claim of the cluster"],
      ["holdfast claims -n shop db", "those of VM shop/db"],
      ["holdfast claims -n shop db.blue", "one claim: its holds, who uses it, and what it waits for"],
    )
    .action(async (name: string | undefined, { output: format, allNamespaces, namespace, ...rest }: ListFlags) => {
      if (allNamespaces && namespace !== undefined) throw new UsageError("-n and -A exclude each other: give one.");
      const scope = allNamespaces ? {} : { namespace: namespace ?? defaultNamespace };
      const found = await claims.list({ ...rest, ...scope, name });
      const isOne = found.details.length > 0;
      const lines = isOne ? found.details.flatMap(detailLines) : claimLines(found.rows);
      print(output, format, { claims: isOne ? found.details : found.rows }, lines);
      if (name !== undefined && found.rows.length === 0 && !isOne)
        throw new UsageError(nothing(name, scope.namespace), 1);
    });
}

function nothing(name: string, namespace: string | undefined): string {
  const where = namespace === undefined ? "in any namespace" : `in namespace ${namespace} (-A looks in all)`;
  return `there is no claim ${name}, and no VM ${name} that has one, ${where}.`;
}

function exportCommand(output: Output, claims: Claims): Command {
  return new ClusterCommand("export")
    .description(
      "Print the claims of VMs with their addresses, for `holdfast adopt --file` in another cluster. Changes nothing.",
    )
    .systemNamespace()
    .option("-n, --namespace <name>", "of this namespace (default: of all)")
    .examples(["holdfast claims export -n shop > shop-claims.json", "before VMs move to another cluster"])
    .action(async (request: ClaimsRequest) => output.line(JSON.stringify(await claims.export(request), undefined, 2)));
}

function takeoverCommand(output: Output, claims: Claims): Command {
  return new ClusterCommand("takeover")
    .description(
      "Take over the claims of kubevirt/ipam-extensions: hold their addresses, record whose they are, and put our finalizer in place of theirs.",
    )
    .systemNamespace()
    .option("-n, --namespace <name>", "of this namespace (default: of all)")
    .option("--dry-run", "say what would be done, and change nothing", false)
    .option("--beside", "although ipam-extensions runs: it makes new claims of its own all the while", false)
    .examples(
      ["holdfast claims takeover --dry-run", "what would become of each claim"],
      ["holdfast claims takeover", "after ipam-extensions and its webhook were removed; VMs may run"],
    )
    .action((request: TakeoverRequest) => claims.takeover(request, output));
}

function installCrdCommand(output: Output, claims: Claims): Command {
  return new ClusterCommand("install-crd")
    .description(
      "Give the cluster the kind IPAMClaim where it has none. One that is there is left as it is, unless it is an earlier one of ours.",
    )
    .option("--dry-run", "say what would be done, and write nothing", false)
    .action((request: InstallCrdRequest) => claims.installCrd(request, output));
}

type ReleaseFlags = Omit<ReleaseFinalizersRequest, "isConfirmed"> & { readonly yes: boolean };

function releaseFinalizersCommand(output: Output, claims: Claims): Command {
  return new ClusterCommand("release-finalizers")
    .description(
      "Before Holdfast is removed: take our finalizer off every claim, and keep the claims with their addresses. Refuses while a controller leads.",
    )
    .systemNamespace("where the controller's lease is")
    .option("--dry-run", "show which claims would be let go, and write nothing", false)
    .option("--yes", "confirm that nothing keeps these addresses with their VMs any more", false)
    .action(({ yes, ...flags }: ReleaseFlags) => claims.releaseFinalizers({ ...flags, isConfirmed: yes }, output));
}
