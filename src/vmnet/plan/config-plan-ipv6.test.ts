// The plan of a network config whose pool has IPv6 too, as a table: both families of a NIC stay, pass and go alike.
import { describe, expect, it } from "vitest";

import { type Case, cooling, hold, kept, macs, net, planOf, told } from "./testing/config-case.ts";

const [v4, v6] = ["10.7.0.15", "fd00:7::15"];
const shown = [{ networkName: net, macAddress: macs.a, allocatedIPAddress: v4, allocatedIPv6Address: v6 }];

const cases: readonly (readonly [what: string, facts: Case, told: readonly string[]])[] = [
  [
    "a NIC takes one of each family",
    { nics: [[macs.a]] },
    ["take any of pool-48 for 0a", "take any IPv6 of pool-48 for 0a", "0a - Pending"],
  ],
  [
    "rather those that were shown",
    { nics: [[macs.a]], shown },
    [`take any of pool-48 for 0a, rather ${v4}`, `take any IPv6 of pool-48 for 0a, rather ${v6}`, "0a - Pending"],
  ],
  [
    "with one of them it is not allocated yet",
    { nics: [[macs.a]], own: [hold(v4, macs.a)] },
    ["take any IPv6 of pool-48 for 0a", `0a ${v4} Pending`],
  ],
  ["with both it is", { nics: [[macs.a]], own: [hold(v6, macs.a), hold(v4, macs.a)] }, [`0a ${v4} ${v6} Allocated`]],
  [
    "also where the pool has no IPv6 any more",
    { nics: [[macs.a]], dual: false, own: [hold(v6, macs.a), hold(v4, macs.a)] },
    [`0a ${v4} ${v6} Allocated`],
  ],
  [
    "also where the network is gone",
    { nics: [[macs.a]], own: [hold(v4, macs.a)], network: { pools: [], isDefined: false } },
    [`0a ${v4} Allocated`],
  ],
  [
    "one MAC in place of one other: both are passed on",
    { nics: [[macs.b]], own: [hold(v4, macs.a), hold(v6, macs.a)] },
    [`pass ${v4} from 0a to 0b`, `pass ${v6} from 0a to 0b`, `0b ${v4} ${v6} Allocated`],
  ],
  [
    "also where one of them has passed already",
    { nics: [[macs.b]], own: [hold(v4, macs.b), hold(v6, macs.a)] },
    [`pass ${v6} from 0a to 0b`, `0b ${v4} ${v6} Allocated`],
  ],
  [
    "and where another NIC waits for IPv6",
    { nics: [[macs.a], [macs.c]], own: [hold("10.7.0.99", macs.c), hold(v4, macs.b), hold(v6, macs.b)] },
    [
      `pass ${v4} from 0b to 0a`,
      `pass ${v6} from 0b to 0a`,
      "take fd00:7::99 for 0c",
      `0a ${v4} ${v6} Allocated`,
      "0c 10.7.0.99 Pending",
    ],
  ],
  [
    "a NIC that is gone: both are released",
    { nics: [], own: [hold(v4, macs.b), hold(v6, macs.b)] },
    [`release ${v4}`, `release ${v6}`],
  ],
  [
    "left by a namesake, same MAC: both are inherited",
    { nics: [[macs.a]], left: [hold(v4, macs.a, { uid: "old" }), hold(v6, macs.a, { uid: "old" })] },
    [`pass ${v4} from 0a to 0a`, `pass ${v6} from 0a to 0a`, `0a ${v4} ${v6} Allocated`],
  ],
  [
    "kept for a namesake, another MAC: those of one MAC go together",
    {
      nics: [[macs.a]],
      left: [
        hold("10.7.0.16", macs.b, { uid: "old", note: kept }),
        hold("fd00:7::16", macs.b, { uid: "old", note: kept }),
        hold("10.7.0.17", macs.c, { uid: "old", note: kept }),
        hold("fd00:7::11", macs.c, { uid: "old", note: kept }),
      ],
    },
    ["pass 10.7.0.16 from 0b to 0a", "pass fd00:7::16 from 0b to 0a", "0a 10.7.0.16 fd00:7::16 Allocated"],
  ],
  [
    "what cools is taken back early, each family for itself",
    { nics: [[macs.a]], own: [hold(v4, macs.a)], left: [hold(v6, macs.a, { cooling })] },
    [`take ${v6} for 0a early`, `0a ${v4} Pending`],
  ],
  [
    "by number, the other family any",
    { nics: [[macs.a, net, undefined, "fd00:7::17"]] },
    ["take any of pool-48 for 0a", "take fd00:7::17 for 0a", "0a - Pending"],
  ],
  [
    "a number that is excluded: it keeps what it has",
    { nics: [[macs.a, net, undefined, "fd00:7::12"]], own: [hold(v4, macs.a), hold(v6, macs.a)] },
    [`0a ${v4} ${v6} Pending`],
  ],
  [
    "the MAC has an IPv6 address of another config: nothing is taken",
    { nics: [[macs.a]], rivals: [hold(v6, macs.a, { uid: "other", name: "vm-b" })] },
    ["0a - Pending"],
  ],
  [
    "paused: both are released, and shown as they were",
    { nics: [[macs.a]], isPaused: true, own: [hold(v4, macs.a), hold(v6, macs.a)], shown },
    [`release ${v4}`, `release ${v6}`, `0a ${v4} ${v6} Pending`],
  ],
];

describe("planConfig with IPv6", () => {
  it.each(cases)("%s", (_what, facts, lines) => expect(told(planOf({ dual: true, ...facts }))).toEqual(lines));

  it("says why, by family where they differ", () => {
    const message = (facts: Case) => planOf({ dual: true, ...facts }).nics[0]!.message;
    const full = (slot: string): [string, string] => [slot, `${slot} is full.`];
    expect(message({ nics: [[macs.a]], refusals: new Map([full("0 IPv4"), full("0 IPv6")]) })).toBe(
      "0 IPv4 is full. IPv6: 0 IPv6 is full.",
    );
    expect(message({ nics: [[macs.a]], own: [hold(v4, macs.a)], refusals: new Map([full("0 IPv6")]) })).toBe(
      "IPv6: 0 IPv6 is full.",
    );
    expect(message({ nics: [[macs.a]], network: { paused: true } })).toBe(
      "ippl tenant-a/pool-48 was administratively disabled: resume it (spec.paused).",
    );
    const asks = { nics: [[macs.a, net, undefined, "fd00:7::17"] as const], own: [hold(v4, macs.a)] };
    expect(message({ ...asks, dual: false })).toContain("which has no IPv6");
  });
});
