// The checker must be able to fail: a life in which everything is right, and the same with one fault for every rule.
import { describe, expect, it } from "vitest";

import { address, changes, claim, hold, node, pod, type Told, vm, vmi } from "./checker-objects.ts";
import { Checker, type Rule } from "./checker.ts";

/** One VM that runs. */
const running: readonly Told[] = [
  ["ADDED", "node", node("n1", "True")],
  ["ADDED", "vm", vm("vm1")],
  ["ADDED", "vmi", vmi("vmi1", "vm1")],
  ["ADDED", "claim", claim("c1", "vm1")],
  ["ADDED", "reservation", hold("c1")],
  ["MODIFIED", "claim", claim("c1", "vm1", { ips: [`${address}/24`] })],
  ["ADDED", "pod", pod("p1", "vmi1")],
];
/** And is gone, with everything. */
const ended: readonly Told[] = [
  ["DELETED", "pod", pod("p1", "vmi1", { phase: "Succeeded" })],
  ["DELETED", "vmi", vmi("vmi1", "vm1")],
  ["DELETED", "vm", vm("vm1")],
  ["DELETED", "claim", claim("c1", "vm1")],
  ["MODIFIED", "reservation", hold("c1", address, true)],
  ["DELETED", "reservation", hold("c1", address, true)],
];

describe("a life in which everything is right", () => {
  const lives: readonly (readonly [string, readonly Told[]])[] = [
    ["run and deleted", [...running, ...ended]],
    [
      "a migration: two pods of one owner",
      [
        ...running,
        ["ADDED", "pod", pod("p2", "vmi1", { node: "n2" })],
        ["MODIFIED", "pod", pod("p1", "vmi1", { phase: "Succeeded" })],
      ],
    ],
    [
      "stopped and started: another VMI of the same VM",
      [
        ...running,
        ["DELETED", "pod", pod("p1", "vmi1")],
        ["ADDED", "vmi", vmi("vmi2", "vm1")],
        ["ADDED", "pod", pod("p2", "vmi2")],
      ],
    ],
    [
      "orphaned, adopted by a second VM, and the claim follows",
      [
        ...running,
        ["MODIFIED", "vmi", vmi("vmi1")],
        ["DELETED", "vm", vm("vm1")],
        ["MODIFIED", "claim", claim("c1", "vmi1")],
        ["ADDED", "vm", vm("vm2")],
        ["MODIFIED", "vmi", vmi("vmi1", "vm2")],
        ["MODIFIED", "claim", claim("c1", "vm2")],
        ["ADDED", "pod", pod("p2", "vmi1")],
      ],
    ],
    [
      "adopted and ended while no controller ran: nothing tells the new VM of the address",
      [
        ...running,
        ["MODIFIED", "vmi", vmi("vmi1")],
        ["DELETED", "vm", vm("vm1")],
        ["MODIFIED", "claim", claim("c1", "vmi1")],
        ["ADDED", "vm", vm("vm2")],
        ["MODIFIED", "vmi", vmi("vmi1", "vm2")],
        ["DELETED", "pod", pod("p1", "vmi1")],
        ["DELETED", "vmi", vmi("vmi1", "vm2")],
        ["DELETED", "claim", claim("c1", "vmi1")],
        ["ADDED", "claim", claim("c2", "vm2")],
        ["ADDED", "reservation", hold("c2", "10.0.0.8")],
        ["MODIFIED", "claim", claim("c2", "vm2", { ips: ["10.0.0.8/24"] })],
      ],
    ],
    [
      "a claim made anew continues the one before",
      [
        ...running,
        ["DELETED", "claim", claim("c1", "vm1")],
        ["ADDED", "claim", claim("c2", "vm1")],
        ["MODIFIED", "reservation", hold("c2")],
      ],
    ],
    [
      "a swapped network: the NIC has an address in both for a while",
      [
        ...running,
        ["ADDED", "claim", claim("c2", "vm1", { network: "other" })],
        ["ADDED", "reservation", hold("c2", "10.1.0.7")],
      ],
    ],
    [
      "an answer was lost: the second address, which nobody was told of, goes again",
      [
        ...running,
        ["ADDED", "reservation", hold("c1", "10.0.0.8")],
        ["DELETED", "reservation", hold("c1", "10.0.0.8")],
      ],
    ],
    [
      "a claim made by hand, used by one pod after the other",
      [
        ["ADDED", "claim", claim("c9", "")],
        ["ADDED", "reservation", hold("c9")],
        ["ADDED", "pod", pod("p1", "")],
        ["DELETED", "pod", pod("p1", "")],
        ["ADDED", "pod", pod("p2", "")],
      ],
    ],
  ];
  it.each(lives)("%s", (_, told) => {
    expect(Checker.violationsOf(changes(...told))).toEqual([]);
  });

  it("leaves nothing", () => {
    const checker = new Checker();
    for (const change of changes(...running, ...ended)) checker.see(change);
    expect(checker.remains()).toEqual([]);
  });
});

describe("one fault", () => {
  const other: readonly Told[] = [
    ["ADDED", "vm", vm("vm2")],
    ["ADDED", "vmi", vmi("vmi2", "vm2")],
    ["ADDED", "claim", claim("c2", "vm2")],
  ];
  const faults: readonly (readonly [string, Rule, readonly Told[]])[] = [
    ["another VM's pod has the address", "one owner", [...running, ...other, ["ADDED", "pod", pod("p2", "vmi2")]]],
    [
      "a third pod of one owner has it",
      "one owner",
      [...running, ["ADDED", "pod", pod("p2", "vmi1")], ["ADDED", "pod", pod("p3", "vmi1")]],
    ],
    [
      "two pods have the address of a claim made by hand",
      "one owner",
      [
        ["ADDED", "claim", claim("c9", "")],
        ["ADDED", "reservation", hold("c9")],
        ["ADDED", "pod", pod("p1", "")],
        ["ADDED", "pod", pod("p2", "")],
      ],
    ],
    [
      "a pod has what nobody holds",
      "held while used",
      [...running, ["ADDED", "pod", pod("p2", "vmi1", { ips: ["10.0.0.9"] })]],
    ],
    [
      "a pod has what is held for another owner's claim",
      "held while used",
      [...running, ["DELETED", "pod", pod("p1", "vmi1")], ...other, ["ADDED", "pod", pod("p2", "vmi2")]],
    ],
    [
      "an interface has what is held for another NIC of the same VM",
      "held while used",
      [
        ...running,
        ["ADDED", "claim", claim("c2", "vm1", { nic: "red" })],
        ["ADDED", "pod", pod("p2", "vmi1", { nic: "red" })],
      ],
    ],
    [
      "the address rests while a pod has it",
      "held while used",
      [...running, ["DELETED", "claim", claim("c1", "vm1")], ["MODIFIED", "reservation", hold("c1", address, true)]],
    ],
    [
      "the address is freed while the claim exists",
      "freed too early",
      [...running, ["DELETED", "pod", pod("p1", "vmi1")], ["DELETED", "reservation", hold("c1")]],
    ],
    [
      "the address is freed while its pod may run on a node that is cut off",
      "freed too early",
      [
        ...running,
        ["MODIFIED", "node", node("n1", "Unknown")],
        ["DELETED", "pod", pod("p1", "vmi1")],
        ["DELETED", "claim", claim("c1", "vm1")],
        ["DELETED", "reservation", hold("c1")],
      ],
    ],
    [
      "the hold goes straight to another owner",
      "handed on",
      [...running, ["DELETED", "pod", pod("p1", "vmi1")], ...other, ["MODIFIED", "reservation", hold("c2")]],
    ],
    [
      "a NIC gets a second address, and its status shows it",
      "same address",
      [
        ...running,
        ["ADDED", "reservation", hold("c1", "10.0.0.8")],
        ["MODIFIED", "claim", claim("c1", "vm1", { ips: ["10.0.0.8/24"] })],
      ],
    ],
    [
      "what a claim was given first is taken back",
      "freed too early",
      [
        ["ADDED", "vm", vm("vm1")],
        ["ADDED", "claim", claim("c1", "vm1")],
        ["ADDED", "reservation", hold("c1")],
        ["DELETED", "reservation", hold("c1")],
      ],
    ],
    [
      "a claim made anew gets another address while the first is held",
      "same address",
      [
        ...running,
        ["DELETED", "claim", claim("c1", "vm1")],
        ["ADDED", "claim", claim("c2", "vm1")],
        ["ADDED", "reservation", hold("c2", "10.0.0.8")],
        ["ADDED", "pod", pod("p2", "vmi1", { ips: ["10.0.0.8"] })],
      ],
    ],
    ["two claims for one NIC", "unique identity", [...running, ["ADDED", "claim", claim("c2", "vm1")]]],
    [
      "a status shows another's address",
      "foreign status",
      [...running, ["ADDED", "claim", claim("c2", "vm2", { ips: [`${address}/24`] })]],
    ],
  ];
  it.each(faults)("%s: %s", (_, rule, told) => {
    const found = Checker.violationsOf(changes(...told));
    expect(found.map((each) => each.rule)).toContain(rule);
    expect(found.map((each) => each.rule).filter((each) => each !== rule && each !== "held while used")).toEqual([]);
  });

  it("and is seen at the change that makes it", () => {
    const told = changes(...running, ["ADDED", "claim", claim("c2", "vm1")]);
    expect(Checker.violationsOf(told)[0]?.version).toBe(BigInt(told.length));
  });

  it.each([
    ["a claim is left", [...running, ...ended.filter(([, kind]) => kind !== "claim" && kind !== "reservation")], 1],
    ["a hold is left", [...running, ...ended.filter(([, kind]) => kind !== "reservation")], 1],
  ] as readonly (readonly [string, readonly Told[], number])[])("%s at the end", (_, told, count) => {
    const checker = new Checker();
    for (const change of changes(...told)) checker.see(change);
    expect(checker.remains()).toHaveLength(count);
  });
});
