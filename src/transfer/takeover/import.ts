// Takes over what another IPAM has given. Every address is taken through the ledger, one by one, as a pod would: what
// is another's already stays another's. Doing it again does nothing.
import { readAllocations } from "../../api/pools/allocations.ts";
import { domainOfPool } from "../../api/pools/domain.ts";
import { markedDomain, settledDomain } from "../../api/pools/pool-domain.ts";
import { ensurePool, poolObject } from "../../cluster/pool-object.ts";
import { pods } from "../../cluster/resources.ts";
import type { ClusterAccess } from "../../cluster/state.ts";
import { describeDomain } from "../../ipam/ledger.ts";
import type { Owner } from "../../ipam/owner.ts";
import { type AnyObject, keyOf } from "../../kube/meta.ts";
import { defineResource } from "../../kube/resource.ts";
import { adoptPool } from "../../ledger/adoption/adoption.ts";
import { detectUpstream } from "../../ledger/coexistence/upstream.ts";
import { listHolds } from "../../ledger/reservation/list-holds.ts";
import { ReservationLedger } from "../../ledger/reservation/reservation-ledger.ts";
import { counted } from "../../net/counted.ts";
import { TransferError } from "../error.ts";
import { matchPools } from "../plan/match.ts";
import { type Network, networksOf } from "../plan/network.ts";
import { type Survey, objectId, readSurvey } from "../plan/survey.ts";
import { compare } from "./compare.ts";
import { type Foreign, type ForeignAllocation, type LiveAddress, liveAddresses } from "./foreign.ts";
import { type HostLocalFile, readHostLocal } from "./host-local.ts";
import { readSpiderpool } from "./spiderpool.ts";
import { type Destined, holdKey, planTakeover } from "./takeover.ts";

export interface ImportOptions extends ClusterAccess {
  readonly source: "whereabouts" | "host-local" | "spiderpool";
  readonly mode: "write" | "dry-run" | "compare";
  /** host-local's folder, and what is in it. */
  readonly folder?: string;
  readonly files: readonly HostLocalFile[];
  /** namespace/name: this definition only. */
  readonly definition?: string;
  /** Whose daemon the records belong to. */
  readonly node?: string;
  readonly now: () => number;
}

export interface ImportReport {
  readonly lines: readonly string[];
  /** Everything agreed, or was taken over. */
  readonly isClean: boolean;
}

export async function runImport(options: ImportOptions): Promise<ImportReport> {
  const { client, source, mode, signal } = options;
  const survey = await readSurvey(client, options.systemNamespace, signal);
  const networks = askedNetworks(survey, options.definition);
  const live = liveAddresses(await client.listAll(pods, { signal }));
  const known = { ...options, survey, networks };
  const foreign = await foreignOf(known, live);
  if (mode === "compare") {
    const { agreed, differing } = compare(live, foreign.allocations, networks);
    const count = `Recorded for the pods that use them: ${agreed} of ${counted(agreed + differing.length, "address")}.`;
    return { lines: [...foreign.notes, ...differing, count], isClean: differing.length === 0 };
  }
  return source === "whereabouts" ? adoptAll(known) : takeAll(known, foreign);
}

function askedNetworks(survey: Survey, definition: string | undefined): Network[] {
  const all = networksOf(survey.definitions);
  const asked = definition === undefined ? all : all.filter(({ key }) => key === definition);
  if (asked.length > 0) return asked;
  const fault =
    definition === undefined
      ? "No NetworkAttachmentDefinition has an ipam of type holdfast or whereabouts"
      : `NetworkAttachmentDefinition ${definition} is not there, or has no ipam of type holdfast or whereabouts`;
  const remedy = "write the definition that gives these addresses from now on first";
  throw new TransferError("bad-source", `${fault}: ${remedy}. Nothing uses it before pods ask for it.`);
}

type Known = ImportOptions & { readonly survey: Survey; readonly networks: readonly Network[] };

async function foreignOf(known: Known, live: readonly LiveAddress[]): Promise<Foreign> {
  const { client, source, survey, networks, signal } = known;
  switch (source) {
    case "host-local":
      return readHostLocal(known.folder ?? "", known.files, live);
    case "spiderpool": {
      const list = (kind: string, namespaced: boolean) => {
        const named = { group: "spiderpool.spidernet.io", version: "v2beta1", plural: `${kind.toLowerCase()}s`, kind };
        return client.listAll(defineResource<AnyObject>({ ...named, namespaced }), { signal });
      };
      const pools = await list("SpiderIPPool", false);
      const endpoints = await list("SpiderEndpoint", true);
      const reserved = await list("SpiderReservedIP", false);
      return readSpiderpool({ pools, endpoints, reserved });
    }
    case "whereabouts":
      return { allocations: whereaboutsAllocations(survey, networks), notes: [...survey.unreadable] };
  }
}

function whereaboutsAllocations(survey: Survey, networks: readonly Network[]): ForeignAllocation[] {
  const matches = matchPools(survey, networks);
  const matched = survey.pools.filter((pool) => matches.has(keyOf(pool)));
  return matched.flatMap((pool) =>
    readAllocations(pool).entries.flatMap(({ address, owner }) =>
      owner.kind === "pod" ? [{ address, owner, source: objectId(pool) }] : [],
    ),
  );
}

async function adoptAll(known: Known): Promise<ImportReport> {
  const { client, mode, now, signal, systemNamespace, survey, networks } = known;
  const { systemNamespace: poolNamespace } = survey;
  const { active, why } = await detectUpstream(client, { systemNamespace, poolNamespace, now, signal });
  const lines = active
    ? [`whereabouts is still active, so its entries arbitrate and nothing is made of them yet: ${why.join(" ")}`]
    : [];
  let isClean = !active;
  const matches = matchPools(survey, networks);
  for (const pool of survey.pools) {
    const [match] = matches.get(keyOf(pool)) ?? [];
    const count = Object.keys(pool.spec.allocations).length;
    if (match === undefined) lines.push(`${objectId(pool)}: no definition uses it; it is left as it is.`);
    else if (mode === "dry-run" || active)
      lines.push(`${objectId(pool)}: ${counted(count, "entry")} would be adopted for ${match.network.key}.`);
    else {
      const { namespace = "", name = "" } = pool.metadata;
      const { networkName, protectsOverlaps } = match.network;
      const rule = { network: networkName, protectsOverlaps, pool: { namespace, name } };
      const domain = markedDomain(pool) ?? domainOfPool(rule);
      const adoption = await adoptPool(client, { pool: poolObject(pool), domain, now, signal });
      const { adopted } = adoption.pool;
      const done = `${counted(adoption.created, "record")} made, ${adopted ? "adopted" : "not adopted"}`;
      lines.push(`${objectId(pool)}: ${counted(count, "entry")}, ${done}.`, ...adoption.blocking, ...adoption.warnings);
      isClean &&= adopted;
    }
  }
  return { lines, isClean: mode === "dry-run" || isClean };
}

async function takeAll(known: Known, foreign: Foreign): Promise<ImportReport> {
  const { client, mode, survey, networks, signal } = known;
  const held = new Map<string, Owner>();
  for await (const each of listHolds(client, { signal })) {
    if (each.unreadable === undefined)
      held.set(holdKey(each.namespace, each.hold.domain, `${each.hold.address}`), each.hold.owner);
  }
  const plan = planTakeover(foreign.allocations, networks, survey.systemNamespace, held);
  const refused = [...plan.refused];
  let taken = 0;
  if (mode === "write") {
    for (const destined of plan.take) {
      const problem = await takeOne(known, destined);
      if (problem === undefined) taken += 1;
      else refused.push(problem);
    }
  }
  const number = mode === "write" ? taken : plan.take.length;
  const done = `${counted(number, "address")} ${mode === "write" ? "taken over" : "would be taken over"}`;
  const count = `${done}, ${plan.already.length} were recorded already, ${refused.length} refused.`;
  return { lines: [...foreign.notes, ...refused, count], isClean: refused.length === 0 };
}

async function takeOne(options: ImportOptions, destined: Destined): Promise<string | undefined> {
  const { client, now, node, signal, source } = options;
  const { allocation, network, range, namespace, domain, pool } = destined;
  const { networkName, poolNaming: naming, protectsOverlaps } = network;
  const identity = { range, network: networkName, node: "" };
  const found = await ensurePool(client, { namespace, identity, naming, signal });
  // Whoever imports is an operator.
  const rule = { network: networkName, protectsOverlaps, mayStandAlone: true, pool: found };
  const settled = settledDomain(rule, found.domain);
  if (settled === undefined)
    return `${allocation.address}: IPPool ${pool} is handed out in ${describeDomain(found.domain ?? "")}, and ${network.key} asks for ${describeDomain(domain)}: set enable_overlapping_ranges alike.`;
  const ledger = new ReservationLedger({ client, namespace, now, ...(node !== undefined && { node }) });
  const { address, owner } = allocation;
  const note = { pool, why: `taken over from ${source}: ${allocation.source}` };
  const result = await ledger.take({ domain: settled, address, owner, note, early: true }, { signal });
  if (result.outcome === "taken" || result.outcome === "yours") return undefined;
  return `${address} of ${owner.namespace}/${owner.name} was taken by another in the meantime: two pods have one address. Restart one of them.`;
}
