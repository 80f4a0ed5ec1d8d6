// Two pools of one network, one family of each: whether both can be. Pure. They have the same subnet, or subnets that
// are apart; ranges apart; and what one of them keeps for its server, its router or a device, the other gives to no VM.
import { type Address, equal } from "../../net/address.ts";
import { common } from "../../net/interval-set.ts";
import { formatInterval } from "../../net/interval.ts";
import { overlaps } from "../../net/prefix.ts";
import type { Ipv4Plan, Ipv6Plan, PoolPlan } from "./pool-plan.ts";

type FamilyPlan = Ipv4Plan | Ipv6Plan;

export interface Clash {
  /** Of the pool that is asked about. */
  readonly field: string;
  readonly message: string;
}

/** With those of the others that were there before, in their order. */
export function clashWith(plan: PoolPlan, others: readonly PoolPlan[], family: "ipv4" | "ipv6"): Clash | undefined {
  const mine = plan[family];
  if (mine === undefined) return undefined;
  for (const other of others) {
    const theirs = other.key === plan.key || !precedes(other, plan) ? undefined : other[family];
    const clash = theirs && clashOf(mine, theirs, `ippl ${other.key}`);
    if (clash !== undefined) return { ...clash, field: `spec.${family}Config.${clash.field}` };
  }
  return undefined;
}

/** Of two pools that cannot both be, the older one counts; of two that came at once, the first by name. */
export function precedes(a: Pick<PoolPlan, "createdAt" | "key">, b: Pick<PoolPlan, "createdAt" | "key">): boolean {
  if (a.createdAt === "" || b.createdAt === "") return b.createdAt === "";
  return a.createdAt === b.createdAt ? a.key < b.key : a.createdAt < b.createdAt;
}

function clashOf(mine: FamilyPlan, theirs: FamilyPlan, other: string): Clash | undefined {
  const isSame = mine.prefix.toString() === theirs.prefix.toString();
  if (!isSame && overlaps(mine.prefix, theirs.prefix)) {
    const message = `${mine.prefix} overlaps ${theirs.prefix} of ${other} on the same network; write the same subnet, or one apart from it.`;
    return { field: "cidr", message };
  }
  const [shared] = common(mine.usable, theirs.usable);
  if (shared !== undefined) {
    const message = `${formatInterval(shared)} is ${other}'s too, on the same network; move start or end, or exclude it in one of the two.`;
    return { field: "pool", message };
  }
  return (
    servers(mine, theirs, other) ??
    givenThere(mine, theirs, other) ??
    givenHere(mine, theirs, other) ??
    devices(mine, theirs, other)
  );
}

/** An address that no VM gets, and the field that says so. */
interface Kept {
  readonly field: "serverIP" | "router" | "reservations";
  readonly address: Address;
}

function keptBy({ server, router, reservations }: FamilyPlan): readonly Kept[] {
  return [
    ...(server === undefined ? [] : [{ field: "serverIP", address: server } as const]),
    ...(router === undefined ? [] : [{ field: "router", address: router } as const]),
    ...reservations.map(({ address }) => ({ field: "reservations", address }) as const),
  ];
}

export const roles = { serverIP: "the server", router: "the router", reservations: "a reservation" } as const;

/** Each pool's agents have an address that is nothing else in the network. Link-local ones are no part of a subnet. */
function servers(mine: FamilyPlan, theirs: FamilyPlan, other: string): Clash | undefined {
  const isAt = (server: Address | undefined) => (kept: Kept) => server !== undefined && equal(kept.address, server);
  const there = keptBy(theirs).find(isAt(mine.server));
  if (there !== undefined) {
    const message = `${there.address} is ${roles[there.field]} of ${other}${there.field === "serverIP" ? " too" : ""}; write another: each pool's agents keep an address of their own.`;
    return { field: "serverIP", message };
  }
  const here = keptBy(mine).find(isAt(theirs.server));
  if (here === undefined) return undefined;
  return { field: here.field, message: `${here.address} is the server of ${other}; write another, or leave it out.` };
}

function givenThere(mine: FamilyPlan, theirs: FamilyPlan, other: string): Clash | undefined {
  const kept = keptBy(mine).find(({ address }) => theirs.usable.has(address));
  if (kept === undefined) return undefined;
  const message = `${kept.address} is an address for VMs in ${other}; write another, or exclude it there.`;
  return { field: kept.field, message };
}

function givenHere(mine: FamilyPlan, theirs: FamilyPlan, other: string): Clash | undefined {
  const kept = keptBy(theirs).find(({ address }) => mine.usable.has(address));
  if (kept === undefined) return undefined;
  const message = `${kept.address} is ${roles[kept.field]} of ${other}; exclude it, or move start or end.`;
  return { field: "pool", message };
}

/** Both pools' agents would serve it, each to a device of its own. */
function devices(mine: FamilyPlan, theirs: FamilyPlan, other: string): Clash | undefined {
  if (mine.reservations.length === 0 || theirs.reservations.length === 0) return undefined;
  const known = new Map(theirs.reservations.map(({ address, mac }) => [address.toString(), mac]));
  const both = mine.reservations.find(({ address, mac }) => {
    const key = address.toString();
    return known.has(key) && known.get(key) !== mac;
  });
  if (both === undefined) return undefined;
  const message = `${both.address} is a reservation of ${other}, for ${known.get(both.address.toString()) ?? "nobody"}; leave it out in one of the two.`;
  return { field: "reservations", message };
}
