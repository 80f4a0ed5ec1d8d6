// The plan of a network config, as a table: what is there, what is done, what is shown.
import { describe, expect, it } from "vitest";

import type { OwnerKey } from "../../ipam/owner.ts";
import { parseAddress } from "../../net/address.ts";
import { configOf, planned } from "../rules/testing/pool.ts";
import { type ConfigFacts, type ConfigPlan, planConfig } from "./config-plan.ts";
import { keptNote } from "./keeping.ts";
import type { NetworkFacts, NicHold } from "./nic-hold.ts";

const net = "tenant-a/net-48";
const domain = `vm-network:${net}`;
const other = "tenant-a/net-49";
const macs = { a: "02:00:00:00:00:0a", b: "02:00:00:00:00:0b", c: "02:00:00:00:00:0c" } as const;
const range = {
  serverIP: "10.7.0.2",
  cidr: "10.7.0.0/24",
  pool: { start: "10.7.0.10", end: "10.7.0.19", exclude: ["10.7.0.12"] },
};
const plan = planned({ ...range, reservations: [{ ipAddress: "10.7.0.99", macAddress: macs.c }] });
const otherPlan = planned(
  { ...range, cidr: "10.8.0.0/24", serverIP: "10.8.0.2", pool: {} },
  { name: "pool-49", networkName: other },
);

type Nic = readonly [mac: string, network?: string, ip?: string];

function hold(
  address: string,
  mac: string,
  more: Partial<NicHold> & { uid?: string; name?: string; network?: string } = {},
): NicHold {
  const { uid = "uid-of-vm-a", name = "vm-a", network = net, ...rest } = more;
  const owner = { kind: "nic" as const, uid, namespace: "tenant-a", name, nic: mac };
  return { domain: `vm-network:${network}`, address: parseAddress(address), owner, version: `${address}@1`, ...rest };
}

interface Case extends Partial<Omit<ConfigFacts, "nics" | "networks">> {
  readonly nics: readonly Nic[];
  readonly network?: Partial<NetworkFacts> & { isAdopted?: boolean; isDeleting?: boolean; paused?: boolean };
  readonly rivals?: readonly NicHold[];
}

function planOf({ nics, network = {}, rivals = [], ...more }: Case): ConfigPlan {
  const reading = configOf(
    nics.map(([macAddress, networkName = net, ipAddress]) => ({ networkName, macAddress, ipAddress })),
  );
  const { isAdopted = true, isDeleting = false, paused = false, ...facts } = network;
  const pool = { plan: { ...plan, paused }, isAdopted, isDeleting };
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
function told({ passes, takes, releases, nics, isWaiting }: ConfigPlan): string[] {
  const short = (mac: string) => mac.slice(-2);
  return [
    ...passes.map(({ hold: { address, owner }, to }) => `pass ${address} from ${short(owner.nic)} to ${short(to.nic)}`),
    ...takes.map(({ owner, want }) =>
      want.kind === "exactly"
        ? `take ${want.address} for ${short(owner.nic)}${want.early ? " early" : ""}`
        : `take any of ${want.pools.map(({ name }) => name).join()} for ${short(owner.nic)}${want.preferred ? `, rather ${want.preferred}` : ""}`,
    ),
    ...releases.map(({ hold: { address } }) => `release ${address}`),
    ...nics.map(({ macAddress, state, address = "-" }) => `${short(macAddress)} ${address} ${state}`),
    ...(isWaiting ? ["waits"] : []),
  ];
}

const cooling = { untilMs: 1, lastOwner: "" as OwnerKey };
const kept = keptNote({ pool: plan.key }, "vm-a", 1000, 0);

const cases: readonly (readonly [what: string, facts: Case, told: readonly string[]])[] = [
  ["a NIC without a hold takes any", { nics: [[macs.a]] }, ["take any of pool-48 for 0a", "0a - Pending"]],
  [
    "rather the one that was shown",
    {
      nics: [[macs.a]],
      shown: [{ networkName: net, macAddress: macs.a.toUpperCase(), allocatedIPAddress: "10.7.0.15" }],
    },
    ["take any of pool-48 for 0a, rather 10.7.0.15", "0a - Pending"],
  ],
  [
    "a NIC with its hold is settled",
    { nics: [[macs.a]], own: [hold("10.7.0.15", macs.a)] },
    ["0a 10.7.0.15 Allocated"],
  ],
  [
    "also at an address that is excluded by now",
    { nics: [[macs.a]], own: [hold("10.7.0.12", macs.a)] },
    ["0a 10.7.0.12 Allocated"],
  ],
  [
    "also without a pool",
    { nics: [[macs.a]], own: [hold("10.7.0.15", macs.a)], network: { pools: [] } },
    ["0a 10.7.0.15 Allocated"],
  ],
  [
    "one MAC in place of one other: passed on",
    { nics: [[macs.b]], own: [hold("10.7.0.15", macs.a)] },
    ["pass 10.7.0.15 from 0a to 0b", "0b 10.7.0.15 Allocated"],
  ],
  [
    "two in place of one: nobody knows which",
    { nics: [[macs.b], [macs.c]], own: [hold("10.7.0.15", macs.a)] },
    ["take any of pool-48 for 0b", "take 10.7.0.99 for 0c", "release 10.7.0.15", "0b - Pending", "0c - Pending"],
  ],
  [
    "another network is not another MAC",
    { nics: [[macs.a, other]], own: [hold("10.7.0.15", macs.a)] },
    ["take any of pool-49 for 0a", "release 10.7.0.15", "0a - Pending"],
  ],
  [
    "a NIC that is gone: released",
    { nics: [[macs.a]], own: [hold("10.7.0.15", macs.a), hold("10.7.0.16", macs.b)] },
    ["release 10.7.0.16", "0a 10.7.0.15 Allocated"],
  ],
  ["not while an entry cannot be read", { nics: [["zz"]], own: [hold("10.7.0.16", macs.b)] }, ["zz - Pending"]],
  [
    "two holds of one NIC: the one that is shown stays",
    {
      nics: [[macs.a]],
      own: [hold("10.7.0.15", macs.a), hold("10.7.0.16", macs.a)],
      shown: [{ networkName: net, macAddress: macs.a, allocatedIPAddress: "10.7.0.16" }],
    },
    ["release 10.7.0.15", "0a 10.7.0.16 Allocated"],
  ],
  [
    "else the lowest",
    { nics: [[macs.a]], own: [hold("10.7.0.16", macs.a), hold("10.7.0.15", macs.a)] },
    ["release 10.7.0.16", "0a 10.7.0.15 Allocated"],
  ],
  ["by number", { nics: [[macs.a, net, "10.7.0.17"]] }, ["take 10.7.0.17 for 0a", "0a - Pending"]],
  [
    "another number: taken before the old one goes",
    { nics: [[macs.a, net, "10.7.0.17"]], own: [hold("10.7.0.15", macs.a)] },
    ["take 10.7.0.17 for 0a", "0a 10.7.0.15 Allocated"],
  ],
  [
    "and then",
    { nics: [[macs.a, net, "10.7.0.17"]], own: [hold("10.7.0.15", macs.a), hold("10.7.0.17", macs.a)] },
    ["release 10.7.0.15", "0a 10.7.0.17 Allocated"],
  ],
  [
    "a number that is refused: it keeps what it has",
    { nics: [[macs.a, net, "10.7.0.12"]], own: [hold("10.7.0.15", macs.a)] },
    ["0a 10.7.0.15 Pending"],
  ],
  ["reserved for this MAC", { nics: [[macs.c]] }, ["take 10.7.0.99 for 0c", "0c - Pending"]],
  ["reserved for this MAC, and another asked for", { nics: [[macs.c, net, "10.7.0.17"]] }, ["0c - Pending"]],
  [
    "the MAC is another's",
    { nics: [[macs.a]], rivals: [hold("10.7.0.15", macs.a, { uid: "other", name: "vm-b" })] },
    ["0a - Pending"],
  ],
  [
    "a changed MAC that is another's moves nothing",
    { nics: [[macs.b]], own: [hold("10.7.0.15", macs.a)], rivals: [hold("10.7.0.16", macs.b, { uid: "other" })] },
    ["release 10.7.0.15", "0b - Pending"],
  ],
  [
    "left by a namesake, same MAC: inherited",
    { nics: [[macs.a]], left: [hold("10.7.0.15", macs.a, { uid: "old" })] },
    ["pass 10.7.0.15 from 0a to 0a", "0a 10.7.0.15 Allocated"],
  ],
  [
    "left by a namesake, another MAC: not inherited",
    { nics: [[macs.b]], left: [hold("10.7.0.15", macs.a, { uid: "old" })] },
    ["take any of pool-48 for 0b", "0b - Pending"],
  ],
  [
    "kept for a namesake, another MAC: inherited",
    { nics: [[macs.b]], left: [hold("10.7.0.15", macs.a, { uid: "old", note: kept })] },
    ["pass 10.7.0.15 from 0a to 0b", "0b 10.7.0.15 Allocated"],
  ],
  [
    "what a namesake released and cools: taken early",
    { nics: [[macs.a]], left: [hold("10.7.0.15", macs.a, { uid: "old", cooling })] },
    ["take 10.7.0.15 for 0a early", "0a - Pending"],
  ],
  [
    "paused: released, and shown as it was",
    {
      nics: [[macs.a]],
      isPaused: true,
      own: [hold("10.7.0.15", macs.a)],
      shown: [{ networkName: net, macAddress: macs.a, allocatedIPAddress: "10.7.0.15" }],
    },
    ["release 10.7.0.15", "0a 10.7.0.15 Pending"],
  ],
  ["no pool: unmanaged", { nics: [[macs.a]], network: { pools: [] } }, ["0a - Unmanaged"]],
  ["no pool and no definition: said", { nics: [[macs.a]], network: { pools: [], isDefined: false } }, ["0a - Pending"]],
  [
    "a pool that is not taken over yet: nothing is said",
    { nics: [[macs.a]], network: { isAdopted: false } },
    ["0a - Pending", "waits"],
  ],
  ["a paused pool", { nics: [[macs.a]], network: { paused: true } }, ["0a - Pending"]],
  ["a pool that is being deleted", { nics: [[macs.a]], network: { isDeleting: true } }, ["0a - Pending"]],
  [
    "a refusal is not asked again in the same look",
    { nics: [[macs.a]], refusals: new Map([[0, "full."]]) },
    ["0a - Pending"],
  ],
];

describe("planConfig", () => {
  it.each(cases)("%s", (_what, facts, lines) => expect(told(planOf(facts))).toEqual(lines));

  it("says why, with the object and the remedy", () => {
    const message = (facts: Case) => planOf(facts).nics[0]!.message;
    expect(message({ nics: [[macs.a]], network: { paused: true } })).toBe(
      "ippl tenant-a/pool-48 was administratively disabled: resume it (spec.paused).",
    );
    expect(message({ nics: [[macs.a]], rivals: [hold("10.7.0.15", macs.a, { uid: "other", name: "vm-b" })] })).toBe(
      "the MAC 02:00:00:00:00:0a is in use in the network tenant-a/net-48 by vmnetcfg tenant-a/vm-b (02:00:00:00:00:0a) at 10.7.0.15: give one of the two NICs another MAC.",
    );
    expect(domain).toBe("vm-network:tenant-a/net-48");
  });
});
