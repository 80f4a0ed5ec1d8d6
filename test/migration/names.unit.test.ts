// Whose pods are whose, and who gets which address.
import { describe, expect, it } from "vitest";

import { readPodNetwork } from "../../src/cluster/pod-network.ts";
import type { Launcher } from "../../src/migration/objects/launcher.ts";
import { addressSteps, strangers } from "../../src/migration/plan/inheritance.ts";
import { networkOf } from "../../src/migration/plan/placement-of.ts";
import { holderOf } from "../../src/migration/plan/rivals.ts";
import { groupByVm } from "../../src/migration/plan/vm-names.ts";
import { entry, launcher, network } from "./pods.ts";

const bare = { network: undefined };
const over = { phase: "succeeded" } as const;
const other = readPodNetwork('{"default":{"ip_addresses":["10.244.2.9/24"],"mac_address":"0a:58:0a:f4:02:09"}}')!;
const letters = (pods: readonly Launcher[]) => pods.map(({ name }) => name.at(-1)).join("");

describe("names", () => {
  const long = "v".repeat(63);
  const grouped = (...pods: Launcher[]) =>
    Object.fromEntries([...groupByVm(pods)].map(([vm, all]) => [vm.replace(long, "LONG"), letters(all)]));

  it("two VMs with one label and different domains are two", () => {
    expect(grouped(launcher("a", "n1", { vm: "db1" }), launcher("b", "n2", { vm: "db2" }))).toEqual({
      db1: "a",
      db2: "b",
    });
  });

  it("a name that may be cut is the only longer one's, and nobody's of several", () => {
    const cut = launcher("a", "n1", { vm: long, isCut: true });
    const one = launcher("b", "n2", { vm: `${long}-one` });
    const two = launcher("c", "n3", { vm: `${long}-two` });
    expect(grouped(cut)).toEqual({ LONG: "a" });
    expect(grouped(cut, one)).toEqual({ "LONG-one": "ab" });
    expect(grouped(cut, one, two)).toEqual({ LONG: "a", "LONG-one": "b", "LONG-two": "c" });
    expect(grouped(cut, one, launcher("d", "n1", { vm: "w" }))).toEqual({ "LONG-one": "ab", w: "d" });
  });
});

describe("addresses", () => {
  const steps = (...pods: Launcher[]) => addressSteps(pods).map(({ kind, to }) => `${kind} ${to.name.at(-1)}`);

  it.each<[string, Launcher[], string[]]>([
    ["the first pod takes its own", [launcher("a", "n1", bare)], ["take a"]],
    ["once it is bound", [launcher("a", "", bare)], []],
    ["a target gets the source's", [launcher("a", "n1"), launcher("b", "n2", bare)], ["copy b"]],
    ["also of a source that has ended", [launcher("a", "n1", over), launcher("b", "n2", bare)], ["copy b"]],
    [
      "a target that is handled before its source waits",
      [launcher("a", "n1", bare), launcher("b", "n2", bare)],
      ["take a"],
    ],
    ["a target whose source is gone takes none", [launcher("b", "n2", bare)], []],
    ["a pod that ends needs none", [launcher("a", "n1", { ...bare, isDeleting: true })], []],
    [
      "what the VM had before it was stopped is another's",
      [launcher("a", "n1", over), launcher("b", "n2", { ...bare, instance: "vmi-2", isTarget: false })],
      ["take b"],
    ],
    [
      "all that are left",
      [launcher("a", "n1"), launcher("b", "n2", bare), launcher("c", "n3", bare)],
      ["copy b", "copy c"],
    ],
  ])("%s", (_, pods, expected) => {
    expect(steps(...pods)).toEqual(expected);
  });

  it("the entry is passed on whole, with the time since when", () => {
    const [step] = addressSteps([launcher("b", "n1", { sinceMs: 17 }), launcher("c", "n2", bare)]);
    expect(step).toMatchObject({ kind: "copy", entry, sinceMs: 17 });
  });

  it("a target that somebody gave another address does not change the VM's, and is named", () => {
    const pods = [launcher("a", "n1"), launcher("b", "n2", { network: other })];
    expect(networkOf(pods)).toBe(network);
    expect(letters(strangers(pods))).toBe("b");
    expect(strangers([launcher("a", "n1", bare), launcher("b", "n2")])).toEqual([]);
  });

  it("of two VMs with one address the one that had it first keeps it, through its migrations", () => {
    const early = [launcher("a", "n1", over), launcher("e", "n2")];
    const late = [launcher("c", "n3", { instance: "vmi-2" })];
    expect(
      holderOf(
        new Map([
          ["t/late", late],
          ["t/early", early],
        ]),
      ),
    ).toBe("t/early");
    const moved = [launcher("e", "n2", { sinceMs: 0 })];
    expect(
      holderOf(
        new Map([
          ["t/late", late],
          ["t/early", moved],
        ]),
      ),
    ).toBe("t/early");
    expect(
      holderOf(
        new Map([
          ["t/late", late],
          ["t/early", [launcher("a", "n1", over)]],
        ]),
      ),
    ).toBe("t/late");
  });
});
