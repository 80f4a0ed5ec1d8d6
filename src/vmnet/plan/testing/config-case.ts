// Facts of a network config for tests of its plan, and the plan in lines. `vm-a` of `tenant-a`, on a network with one
// pool, and on another.
import type { OwnerKey } from "../../../ipam/owner.ts";
import { parseAddress } from "../../../net/address.ts";
import { configOf, planned } from "../../rules/testing/pool.ts";
import { type ConfigPlan, planConfig } from "../config-plan.ts";
import { keptNote } from "../keeping.ts";
import type { NetworkFacts, NicHold } from "../nic-hold.ts";
import type { ConfigFacts } from "../nic-slot.ts";

export const net = "tenant-a/net-48";
export const domain = `vm-network:${net}`;
export const other = "tenant-a/net-49";
export const macs = { a: "02:00:00:00:00:0a", b: "02:00:00:00:00:0b", c: "02:00:00:00:00:0c" } as const;
const range = {
  serverIP: "10.7.0.2",
  cidr: "10.7.0.0/24",
  pool: { start: "10.7.0.10", end: "10.7.0.19", exclude: ["10.7.0.12"] },
};
const plan = planned({ ...range, reservations: [{ ipAddress: "10.7.0.99", macAddress: macs.c }] });
const dualPlan = planned(range, {
  ipv6Config: {
    cidr: "fd00:7::/64",
    pool: { start: "fd00:7::10", end: "fd00:7::19", exclude: ["fd00:7::12"] },
    reservations: [{ ipAddress: "fd00:7::99", macAddress: macs.c }],
  },
});
const otherPlan = planned(
  { ...range, cidr: "10.8.0.0/24", serverIP: "10.8.0.2", pool: {} },
  { name: "pool-49", networkName: other },
);

type Nic = readonly [mac: string, network?: string, ip?: string | undefined, ipv6?: string];

export function hold(
  address: string,
  mac: string,
  more: Partial<NicHold> & { uid?: string; name?: string; network?: string } = {},
): NicHold {
  const { uid = "uid-of-vm-a", name = "vm-a", network = net, ...rest } = more;
  const owner = { kind: "nic" as const, uid, namespace: "tenant-a", name, nic: mac };
  return { domain: `vm-network:${network}`, address: parseAddress(address), owner, version: `${address}@1`, ...rest };
}

export interface Case extends Partial<Omit<ConfigFacts, "nics" | "networks">> {
  readonly nics: readonly Nic[];
  readonly network?: Partial<NetworkFacts> & { isAdopted?: boolean; isDeleting?: boolean; paused?: boolean };
  /** The pool has IPv6, too. */
  readonly dual?: boolean;
  readonly rivals?: readonly NicHold[];
}

export function planOf({ nics, network = {}, rivals = [], dual = false, ...more }: Case): ConfigPlan {
  const reading = configOf(
    nics.map(([macAddress, networkName = net, ipAddress, ipv6Address]) => ({
      networkName,
      macAddress,
      ipAddress,
      ipv6Address,
    })),
  );
  const { isAdopted = true, isDeleting = false, paused = false, ...facts } = network;
  const pool = { plan: { ...(dual ? dualPlan : plan), paused }, isAdopted, isDeleting };
  const there = { isDefined: true, pools: [pool], faults: [], ...facts };
  return planConfig({
    uid: "uid-of-vm-a",
    namespace: "tenant-a",
    name: "vm-a",
    isPaused: false,
    nics: reading.nics.map(
      (nic) => nic.plan ?? { fault: nic.issues[0]!.message, networkName: nic.networkName, macAddress: nic.macAddress },
    ),
    shown: [],
    networks: new Map([
      [net, there],
      [other, { isDefined: true, pools: [{ plan: otherPlan, isAdopted: true, isDeleting: false }], faults: [] }],
    ]),
    own: [],
    left: [],
    macHolder: (at, mac) => rivals.find((each) => each.domain === at && each.owner.nic === mac),
    ...more,
  });
}

/** One line for each step and each NIC. */
export function told({ passes, takes, releases, nics, isWaiting }: ConfigPlan): string[] {
  const short = (mac: string) => mac.slice(-2);
  return [
    ...passes.map(({ hold: { address, owner }, to }) => `pass ${address} from ${short(owner.nic)} to ${short(to.nic)}`),
    ...takes.map(({ owner, want, family }) =>
      want.kind === "exactly"
        ? `take ${want.address} for ${short(owner.nic)}${want.early ? " early" : ""}`
        : `take any${family === 6 ? " IPv6" : ""} of ${want.pools.map(({ name }) => name).join()} for ${short(owner.nic)}${want.preferred ? `, rather ${want.preferred}` : ""}`,
    ),
    ...releases.map(({ hold: { address } }) => `release ${address}`),
    ...nics.map(({ macAddress, state, address = "-", ipv6Address }) =>
      [short(macAddress), address, ...(ipv6Address === undefined ? [] : [ipv6Address]), state].join(" "),
    ),
    ...(isWaiting ? ["waits"] : []),
  ];
}

export const cooling = { untilMs: 1, lastOwner: "" as OwnerKey };
export const kept = keptNote({ pool: plan.key }, "vm-a", 1000, 0);
