// A pool beside everything else in the cluster (V2, V3, V14, V18, V19, and what Harvester never checked): its network,
// the other pools, the cluster's own ranges, the addresses that are held. Pure: whoever asks brings the facts.
import { describeOwner, type Owner } from "../../ipam/owner.ts";
import { type Address, compare, equal } from "../../net/address.ts";
import { formatInterval, includes } from "../../net/interval.ts";
import { overlaps } from "../../net/prefix.ts";
import type { ClusterRange } from "./cluster-ranges.ts";
import { type DefinitionText, otherGivers } from "./definition.ts";
import { type Issue, Issues, withoutIpv6 } from "./issue.ts";
import { clashWith } from "./pool-clash.ts";
import { type Ipv4Plan, type Ipv6Plan, placementOf, type PoolPlan } from "./pool-plan.ts";

/** Namespaces in which only administrators write: `--trusted-namespaces` of the controller. */
export type Trusted = Pick<ReadonlySet<string>, "has">;

export interface PoolFacts {
  readonly plan: PoolPlan;
  /** Its network; unknown: it could not be read, and nothing is said about it. */
  readonly definition: DefinitionText | "missing" | "unknown";
  /** The other pools that name the network; those that may not are passed over. */
  readonly others: readonly PoolPlan[];
  readonly clusterRanges: readonly ClusterRange[];
  readonly trusted: Trusted;
}

/** Of a pool that is to be, or that is: an error keeps it from being served. A clash of IPv6 costs it IPv6 alone. */
export function examinePool(facts: PoolFacts): readonly Issue[] {
  const { plan, definition, others, clusterRanges } = facts;
  const issues = new Issues();
  if (!mayManage(plan.namespace, plan.network.namespace, facts.trusted)) {
    const message = `${plan.network.key} is a network of another namespace; make the pool in ${plan.network.namespace}, or have an administrator name ${plan.namespace} in --trusted-namespaces of the controller.`;
    issues.error("foreign-namespace", "spec.networkName", message);
    return issues.list; // what else is on it is not everybody's to know
  }
  if (definition === "missing") {
    const message = `there is no NetworkAttachmentDefinition ${plan.network.key}; make it first, or correct the name.`;
    issues.error("unknown-network", "spec.networkName", message);
  } else if (definition !== "unknown") issues.list.push(...otherGivers(definition, plan.network));
  for (const { prefix, what } of clusterRanges) {
    const own = prefix.family === 4 ? plan.ipv4.prefix : plan.ipv6?.prefix;
    if (own === undefined || !overlaps(prefix, own)) continue;
    const message = `${own} overlaps ${what}, ${prefix}: VMs could not reach one of the two; write another subnet.`;
    issues.tolerate("overlaps-cluster", `spec.ipv${prefix.family}Config.cidr`, message);
  }
  const beside = countedOn(others, facts.trusted);
  const clash = clashWith(plan, beside, "ipv4");
  if (clash !== undefined) issues.error("overlapping-pool", clash.field, clash.message);
  const clash6 = clashWith(plan, beside, "ipv6");
  if (clash6 !== undefined) {
    issues.tolerate("overlapping-pool", clash6.field, `${clash6.message} ${withoutIpv6}`);
  }
  return issues.list;
}

/** A pool serves its own namespace's networks; an administrator's pool serves any. */
function mayManage(poolNamespace: string, networkNamespace: string, trusted: Trusted): boolean {
  return poolNamespace === networkNamespace || trusted.has(poolNamespace);
}

/** Else anybody could keep a network's pool from being used, by one of his own that is older and names it. */
export function countedOn(pools: readonly PoolPlan[], trusted: Trusted): readonly PoolPlan[] {
  return pools.filter(({ namespace, network }) => mayManage(namespace, network.namespace, trusted));
}

/** As addresses may be given out of it: without IPv6, where another pool of the network is in its way. */
export function givingPlan(plan: PoolPlan, others: readonly PoolPlan[]): PoolPlan {
  if (clashWith(plan, others, "ipv6") === undefined) return plan;
  const { ipv6: _, ...rest } = plan;
  return rest;
}

/** An address of the network that somebody has. */
export interface HeldAddress {
  readonly address: Address;
  readonly owner: Owner;
  /** `note.pool`: namespace/name of the pool that it was taken from; empty: not recorded. */
  readonly pool: string;
  /** `note.mac`; empty: not recorded. */
  readonly mac: string;
}

type FamilyPlan = Ipv4Plan | Ipv6Plan;

export interface PoolChange {
  /** Undefined: the pool is new, or could not be read before. */
  readonly before?: PoolPlan | undefined;
  readonly after: PoolPlan;
  /** Of the network, whichever pool they are of, without those that rest. */
  readonly holds: readonly HeldAddress[];
}

const maxNamed = 5;

/** What a new or changed pool would take away from those who have an address. Growth is free. */
export function examineChange({ before, after, holds }: PoolChange): readonly Issue[] {
  const issues = new Issues();
  if (before !== undefined && before.network.key !== after.network.key) {
    const message = `it is ${before.network.key} and cannot become ${after.network.key}: make another pool, and delete this one.`;
    issues.error("immutable", "spec.networkName", message);
    return issues.list;
  }
  for (const family of ["ipv4", "ipv6"] as const) {
    const of = holds.filter(({ address }) => address.family === (family === "ipv4" ? 4 : 6));
    const own = of.filter((hold) => before !== undefined && isOf(hold, before));
    const at = `spec.${family}Config`;
    examineRange({ at, was: before?.[family], is: after[family], own, holds: of }, issues);
    examineReserved({ at, was: before?.[family], is: after[family], own, holds: of }, issues);
  }
  return issues.list;
}

/** One family of a pool that changes. */
interface FamilyChange {
  /** `spec.ipv4Config` */
  readonly at: string;
  readonly was: FamilyPlan | undefined;
  readonly is: FamilyPlan | undefined;
  /** Those of this pool. */
  readonly own: readonly HeldAddress[];
  /** Those of the network. */
  readonly holds: readonly HeldAddress[];
}

function examineRange({ at, was, is, own, holds }: FamilyChange, issues: Issues): void {
  const left = own.filter(({ address }) => isWithin(was, address) && !isWithin(is, address));
  if (left.length > 0) {
    const outside = is === undefined ? "without a pool" : `outside ${formatInterval(is.range)}`;
    const message = `${named(left)} would be ${outside}; keep the range around them, or remove their network configs first.`;
    issues.error("hold-outside", `${at}.pool`, message);
  }
  const excluded = holds.filter(
    ({ address }) => is?.excluded.has(address) === true && was?.excluded.has(address) !== true,
  );
  if (excluded.length > 0) {
    const message = `${named(excluded)}: who has one keeps it until it is released.`;
    issues.advise("address-held", `${at}.pool.exclude`, message);
  }
}

/** V14: what is the server's, the router's or reserved from now on is nobody's now. */
function examineReserved({ at, was, is, holds }: FamilyChange, issues: Issues): void {
  const holderOf = (address: Address) => holds.find((hold) => equal(hold.address, address));
  for (const field of ["server", "router"] as const) {
    const [old, now] = [was?.[field], is?.[field]];
    const holder = now === undefined || (old !== undefined && equal(old, now)) ? undefined : holderOf(now);
    if (holder === undefined) continue;
    const message = `${holder.address} is already occupied: ${describeOwner(holder.owner)} has it; write another.`;
    issues.error("address-held", `${at}.${field === "server" ? "serverIP" : field}`, message);
  }
  for (const { address, mac } of is?.reservations ?? []) {
    if (was?.reservations.some((each) => equal(each.address, address) && each.mac === mac) === true) continue;
    const holder = holderOf(address);
    if (holder !== undefined && (mac === undefined || holder.mac !== mac)) {
      const message = `${address} is already occupied: ${describeOwner(holder.owner)} has it; reserve another, or remove its network config first.`;
      issues.error("address-held", `${at}.reservations`, message);
    }
    const elsewhere = mac && holds.find((hold) => hold.mac === mac && !equal(hold.address, address));
    if (elsewhere) {
      const message = `${mac} has ${elsewhere.address} already, as ${describeOwner(elsewhere.owner)}; reserve that one, or remove its network config first.`;
      issues.error("address-held", `${at}.reservations`, message);
    }
  }
}

function isWithin(plan: FamilyPlan | undefined, address: Address): boolean {
  return plan !== undefined && includes(plan.range, address);
}

export interface PoolRemoval {
  readonly plan: PoolPlan;
  readonly others: readonly PoolPlan[];
  /** Of the network, without those that rest. */
  readonly holds: readonly HeldAddress[];
  /** namespace/name of network configs with a NIC on the network. */
  readonly configs: readonly string[];
}

/** V19, by what is in use, whatever the pool is called. */
export function examineRemoval({ plan, others, holds, configs }: PoolRemoval): readonly Issue[] {
  const issues = new Issues();
  const own = holds.filter((hold) => isOf(hold, plan));
  if (own.length > 0) {
    const message = `it's still used: ${named(own)}. Remove their network configs (vmnetcfg) or VMs first.`;
    issues.error("in-use", "", message);
  }
  const isLast = others.every(({ key }) => key === plan.key);
  if (isLast && configs.length > 0) {
    const message = `it's still used by VirtualMachineNetworkConfig(s) ${listed(configs)}, which must be removed at first.`;
    issues.error("in-use", "", message);
  }
  return issues.list;
}

export interface NetworkRemoval {
  /** namespace/name of its pools. */
  readonly pools: readonly string[];
  readonly holds: readonly HeldAddress[];
  readonly configs: readonly string[];
}

/** A network with pools stays while a VM has, or asks for, one of its addresses. */
export function examineNetworkRemoval({ pools, holds, configs }: NetworkRemoval): readonly Issue[] {
  const issues = new Issues();
  const users = configs.length > 0 ? `VirtualMachineNetworkConfig(s) ${listed(configs)}` : named(holds);
  if (holds.length > 0 || configs.length > 0) {
    const message = `its addresses (ippl ${listed(pools)}) are still used by ${users}, which must be removed at first; the pools go with the network.`;
    issues.error("in-use", "", message);
  }
  return issues.list;
}

/** Taken from this pool; where nothing is recorded, by its subnet. */
function isOf({ pool, address }: HeldAddress, plan: PoolPlan): boolean {
  if (pool !== "") return pool === plan.key;
  const family = address.family === 4 ? plan.ipv4 : plan.ipv6;
  return family !== undefined && placementOf(family, address).place !== "outside-subnet";
}

function named(holds: readonly HeldAddress[]): string {
  const sorted = holds.toSorted((a, b) => compare(a.address, b.address));
  return listed(sorted.map(({ address, owner }) => `${address} of ${describeOwner(owner)}`));
}

function listed(all: readonly string[]): string {
  const shown = all.slice(0, maxNamed).join(", ");
  return all.length > maxNamed ? `${shown} and ${all.length - maxNamed} more` : shown;
}
