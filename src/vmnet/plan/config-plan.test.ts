// The plan of a network config, as a table: what is there, what is done, what is shown.
import { describe, expect, it } from "vitest";

import { type Case, cooling, domain, hold, kept, macs, net, other, planOf, told } from "./testing/config-case.ts";

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
    { nics: [[macs.a]], refusals: new Map([["0 IPv4", "full."]]) },
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
