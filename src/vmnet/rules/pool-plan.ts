// A managed pool as everybody sees it: controller, agents, webhook, console. Made by read-pool.ts; nothing in it is
// wrong. Sets of addresses are intervals: a /8 costs what a /28 does.
import type { PoolDefinition as DhcpDefinition } from "../../dhcp/server/pool.ts";
import type { PoolDefinitionV6 as DhcpDefinitionV6 } from "../../dhcp/v6/server/pool-definition.ts";
import type { PoolDefinition, Reservation } from "../../ipam/definition.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { type Address, compare, next, type V4Address, type V6Address } from "../../net/address.ts";
import { common, type IntervalSet } from "../../net/interval-set.ts";
import { includes, type Interval } from "../../net/interval.ts";
import type { Mac } from "../../net/mac.ts";
import { contains, type Prefix } from "../../net/prefix.ts";
import type { NetworkRef } from "./network-ref.ts";

export interface PoolPlan {
  readonly namespace: string;
  readonly name: string;
  /** namespace/name: `note.pool` of its holds. */
  readonly key: string;
  /** Empty: not created yet. */
  readonly uid: string;
  /** Of two pools that cannot both be, the older one counts. Empty: not created yet. */
  readonly createdAt: string;
  readonly network: NetworkRef;
  /** Of the network: all of its pools share it. */
  readonly domain: Domain;
  readonly paused: boolean;
  readonly ipv4: Ipv4Plan;
  /** Absent: none is asked for, or an issue says why it cannot be served. */
  readonly ipv6?: Ipv6Plan;
}

/** What an agent serves of a pool. It gives out nothing: those who have an address keep it, whatever the range says. */
export interface PoolService {
  /** namespace/name */
  readonly key: string;
  readonly paused: boolean;
  readonly dhcp: DhcpDefinition;
  /** Absent: none is asked for, or its subnet cannot be read. */
  readonly dhcpV6?: DhcpDefinitionV6;
  /** Of both families. */
  readonly reservations: readonly AddressReservation[];
}

/** What one family of a pool has for VMs. */
interface AddressPlan {
  readonly prefix: Prefix;
  /** What VMs may be given, before what is withheld. */
  readonly range: Interval;
  /** No VM gets them; within the prefix. EXCLUDED in the pool's status. */
  readonly excluded: IntervalSet;
  /** The server, the router, and every reservation. RESERVED in the pool's status. */
  readonly reserved: readonly Reservation[];
  readonly reservations: readonly AddressReservation[];
  /** range - excluded - reserved. */
  readonly usable: IntervalSet;
  /** How many addresses `usable` has. */
  readonly capacity: bigint;
  readonly leaseSeconds: number;
  /** For src/ipam: the cooldown is the lease time. */
  readonly definition: PoolDefinition;
}

export interface Ipv4Plan extends AddressPlan {
  readonly server: V4Address;
  readonly router?: V4Address;
  /** What guests are told. */
  readonly dhcp: DhcpDefinition;
}

export interface Ipv6Plan extends AddressPlan {
  /** Absent: a link-local address that the agent makes. */
  readonly server?: V6Address;
  /** Link-local, or of the subnet. */
  readonly router?: V6Address;
  readonly dns: readonly V6Address[];
  readonly domainSearch: readonly string[];
  readonly advertise: boolean;
}

/** An address of a device without a VM, or of nobody (a VIP). */
export interface AddressReservation {
  readonly address: Address;
  /** Served to this client. Absent: the address is nobody's. */
  readonly mac?: Mac;
  readonly hostname?: string;
  readonly description?: string;
}

/** The address that the pool keeps for this client. */
export function reservationFor(plan: AddressPlan, mac: Mac): AddressReservation | undefined {
  return plan.reservations.find((each) => each.mac === mac);
}

export type Placement =
  | { readonly place: "usable" }
  | { readonly place: "excluded" }
  /** `mac`: for whom; absent: for nobody. */
  | { readonly place: "reserved"; readonly reason: string; readonly mac?: Mac }
  /** Of the subnet, and not between start and end. */
  | { readonly place: "outside-range" }
  | { readonly place: "outside-subnet" };

/** Where an address stands in a pool. */
export function placementOf(plan: AddressPlan, address: Address): Placement {
  if (!contains(plan.prefix, address)) return { place: "outside-subnet" };
  const reserved = plan.reserved.find(({ interval }) => includes(interval, address));
  if (reserved !== undefined) {
    const mac = plan.reservations.find((each) => compare(each.address, address) === 0)?.mac;
    return { place: "reserved", reason: reserved.reason, ...(mac !== undefined && { mac }) };
  }
  if (!includes(plan.range, address)) return { place: "outside-range" };
  return plan.excluded.has(address) ? { place: "excluded" } : { place: "usable" };
}

/** The family's part of a plan. */
export function familyOf(plan: PoolPlan, address: Address): Ipv4Plan | Ipv6Plan | undefined {
  return address.family === 4 ? plan.ipv4 : plan.ipv6;
}

export interface WithheldMarks {
  /** Address -> EXCLUDED or RESERVED, as `status.ipv4.allocated` has them. */
  readonly marks: ReadonlyMap<string, "EXCLUDED" | "RESERVED">;
  /** There are more than `limit`. */
  readonly isCut: boolean;
}

/** What is withheld between start and end, the reserved ones first, at most `limit` of them. */
export function withheldMarks(plan: AddressPlan, limit: number): WithheldMarks {
  const marks = new Map<string, "EXCLUDED" | "RESERVED">();
  const kinds = [
    ["RESERVED", plan.reserved.map(({ interval }) => interval).filter(({ first }) => includes(plan.range, first))],
    ["EXCLUDED", common([plan.range], plan.excluded)],
  ] as const;
  for (const [mark, intervals] of kinds) {
    for (const { first, last } of intervals) {
      for (let at: Address | undefined = first; at !== undefined && compare(at, last) <= 0; at = next(at)) {
        if (marks.has(at.toString())) continue;
        if (marks.size >= limit) return { marks, isCut: true };
        marks.set(at.toString(), mark);
      }
    }
  }
  return { marks, isCut: false };
}
