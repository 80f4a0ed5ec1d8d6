// What a pool keeps for its server and for devices, and another pool of the network has too: two pools that cannot both
// be, made past the webhook. Pure. An address is that pool's which goes before; the others do not serve it. Nor does a
// pool serve its own server's or router's address to a device. No hold is asked about: who has one keeps it.
import { type Address, equal } from "../../net/address.ts";
import type { IntervalSet } from "../../net/interval-set.ts";
import type { Mac } from "../../net/mac.ts";
import { precedes, roles } from "./pool-clash.ts";
import type { AddressReservation } from "./pool-plan.ts";
import type { PoolObject, PoolReading } from "./read-pool.ts";

/** What one family of a pool says of addresses, as far as it can be read. */
interface FamilyClaim {
  /** What VMs may be given. Absent: nothing is, since something in the pool is wrong. */
  readonly usable?: Pick<IntervalSet, "has">;
  readonly server?: Address;
  readonly router?: Address;
  readonly reservations: readonly AddressReservation[];
}

export interface PoolClaim {
  /** namespace/name */
  readonly key: string;
  /** Empty: not created yet. */
  readonly createdAt: string;
  readonly ipv4?: FamilyClaim | undefined;
  readonly ipv6?: FamilyClaim | undefined;
}

export interface Forfeit {
  readonly field: "serverIP" | "reservations";
  readonly address: Address;
  readonly message: string;
}

const families = ["ipv4", "ipv6"] as const;

export function claimOf({ metadata }: PoolObject, { plan, service }: PoolReading): PoolClaim {
  const { namespace = "", name = "", creationTimestamp: createdAt = "" } = metadata;
  const of = (family: 4 | 6) => (service?.reservations ?? []).filter(({ address }) => address.family === family);
  const server = service?.dhcp.serverIdentifier;
  const server6 = service?.dhcpV6?.serverAddress;
  return {
    key: `${namespace}/${name}`,
    createdAt,
    ipv4: plan?.ipv4 ?? { ...(server && { server }), reservations: of(4) },
    ipv6: plan?.ipv6 ?? { ...(server6 && { server: server6 }), reservations: of(6) },
  };
}

/** `others`: the pools of the same network that count; itself among them or not. */
export function forfeitsOf(mine: PoolClaim, others: readonly PoolClaim[]): readonly Forfeit[] {
  return families.flatMap((family) => {
    const own = mine[family];
    if (own === undefined) return [];
    const before = others.filter((other) => other.key !== mine.key && goesBefore(other, mine, family));
    return [...lostToItself(own, family), ...before.flatMap((other) => lostTo(own, other, family))];
  });
}

/** One that gives nothing goes behind those that do: they ask nobody whether an address is a device's in it. */
function goesBefore(a: PoolClaim, b: PoolClaim, family: (typeof families)[number]): boolean {
  const [one, two] = [a[family]?.usable !== undefined, b[family]?.usable !== undefined];
  return one === two ? precedes(a, b) : one;
}

function lostToItself({ server, router, reservations }: FamilyClaim, family: string): Forfeit[] {
  return reservations.flatMap(({ address }): Forfeit[] => {
    const isKept = [server, router].some((kept) => kept !== undefined && equal(kept, address));
    const message = `spec.${family}Config.reservations: ${address} is the server's or the router's, and is served to no device; leave it out.`;
    return isKept ? [{ field: "reservations", address, message }] : [];
  });
}

function lostTo(mine: FamilyClaim, other: PoolClaim, family: (typeof families)[number]): Forfeit[] {
  const theirs = other[family];
  if (theirs === undefined) return [];
  const devices = new Map(theirs.reservations.map(({ address, mac }) => [address.toString(), mac]));
  const lost: Forfeit[] = [];
  const add = (field: Forfeit["field"], address: Address, mac?: Mac) => {
    const role = roleIn(theirs, devices, address, mac);
    if (role === undefined) return;
    const where = `spec.${family}Config.${field}`;
    const message = `${where}: ${address} is ${role} ippl ${other.key}, which goes before on the same network, and is not served here; write another, or change it there.`;
    lost.push({ field, address, message });
  };
  if (mine.server !== undefined) add("serverIP", mine.server);
  for (const { address, mac } of mine.reservations) add("reservations", address, mac);
  return lost;
}

/** What an address is in another pool; undefined: nothing, or the same device's. */
function roleIn(
  { usable, server, router }: FamilyClaim,
  devices: ReadonlyMap<string, Mac | undefined>,
  address: Address,
  mac: Mac | undefined,
): string | undefined {
  if (server !== undefined && equal(server, address)) return `${roles.serverIP} of`;
  if (router !== undefined && equal(router, address)) return `${roles.router} of`;
  const key = address.toString();
  if (devices.has(key)) return mac !== undefined && devices.get(key) === mac ? undefined : `${roles.reservations} of`;
  return usable?.has(address) === true ? "an address for VMs in" : undefined;
}
