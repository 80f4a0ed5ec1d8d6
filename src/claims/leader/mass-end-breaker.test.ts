import { describe, expect, it } from "vitest";

import { claimOwnerAnnotation } from "../../api/claims/claim-marks.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import { ManualClock } from "../../kube/testing/manual-clock.ts";
import { parseAddress } from "../../net/address.ts";
import type { ClaimStep } from "../plan/steps.ts";
import { massEndBreaker, type MassEndOptions } from "./mass-end-breaker.ts";

const heldFor = (uid: string | undefined, namespace = "shop"): RecordedHold => ({
  namespace: "kube-system",
  hold: {
    domain: "network:net",
    address: parseAddress("10.0.0.7"),
    owner: { kind: "claim", uid: "c", namespace, name: "c" },
    version: "1",
    ...(uid !== undefined && { note: { identity: `${uid}/blue` } }),
  },
});
const release = (uid: string | undefined, namespace?: string): ClaimStep => ({
  kind: "release",
  hold: { ...heldFor(uid, namespace), networks: ["net"] },
  why: "",
});
const claim = (uid: string, namespace = "shop") => ({
  metadata: { name: "c", namespace, annotations: { [claimOwnerAnnotation]: uid } },
  spec: { network: "net", interface: "" },
});

/** Namespace -> how many of its addresses are of VMs that are gone, and of VMs that live. */
type Cluster = Readonly<Record<string, readonly [lost: number, living: number]>>;

function massEnd(cluster: Cluster, more: Partial<MassEndOptions> = {}) {
  const clock = new ManualClock();
  const told: string[] = [];
  const all = Object.entries(cluster).flatMap(([namespace, [lost, living]]) => [
    ...Array.from({ length: lost }, () => heldFor("dead", namespace)),
    ...Array.from({ length: living }, () => heldFor("alive", namespace)),
  ]);
  const holdsBack = massEndBreaker({
    clock,
    held: () => all,
    lives: (uid) => uid === "alive",
    isNobodyListed: () => false,
    allowed: () => 0,
    isAllowed: false,
    onChange: (namespace, why) => told.push(`${namespace}: ${why}`),
    ...more,
  });
  return { made: { holdsBack }, told, all, clock };
}

it.each([
  ["few, though they are all", 50, 0, false],
  ["many, and a small part", 60, 200, false],
  ["many, and a large part", 60, 100, true],
  ["all", 1000, 0, true],
])("owners that are gone: %s", (_, lost, living, expected) => {
  const { made } = massEnd({ shop: [lost, living] });
  expect(made.holdsBack(release("dead"))).toBe(expected);
  expect(made.holdsBack({ kind: "delete", claim: claim("dead"), why: "" })).toBe(expected);
  expect(made.holdsBack({ kind: "drop-finalizer", claim: claim("dead"), why: "" })).toBe(expected);
});

it("what a living VM gives back, what has no owner, and all other steps are not held back", () => {
  const { made } = massEnd({ shop: [1000, 0] });
  expect(made.holdsBack(release("alive"))).toBe(false);
  expect(made.holdsBack(release(undefined))).toBe(false);
  expect(made.holdsBack({ kind: "again", afterMs: 1 })).toBe(false);
});

it.each<[string, Cluster, boolean, Readonly<Record<string, boolean>>]>([
  [
    "one tenant, most of the cluster",
    { shop: [100, 0], bank: [1, 9] },
    false,
    { shop: true, bank: false, post: false },
  ],
  [
    "two tenants of many",
    { shop: [60, 0], bank: [60, 0], post: [1, 900] },
    false,
    { shop: true, bank: true, post: false },
  ],
  [
    "two namespaces, perhaps of one tenant, most of the cluster",
    { shop: [60, 0], bank: [60, 0], post: [10, 9] },
    false,
    { shop: true, bank: true, post: false },
  ],
  [
    "two namespaces, and a small part of the others",
    { shop: [300, 0], bank: [300, 0], post: [60, 240] },
    false,
    { shop: true, bank: true, post: false },
  ],
  [
    "two namespaces, and more than small change of a third",
    { shop: [60, 0], bank: [60, 0], post: [11, 9] },
    false,
    { shop: true, bank: true, post: true },
  ],
  [
    "two of each of very many",
    Object.fromEntries(Array.from({ length: 60 }, (_, each) => [`n${each}`, [2, 0]])),
    false,
    { n0: true, n59: true },
  ],
  [
    "a little of each",
    { shop: [30, 10], bank: [30, 10], post: [30, 10] },
    false,
    { shop: true, bank: true, post: true },
  ],
  ["no VM is listed", { shop: [60, 0], bank: [3, 0] }, true, { shop: true, bank: true, post: true }],
  [
    "no VM is listed, and there were few",
    { shop: [20, 0], bank: [20, 0] },
    true,
    { shop: false, bank: false, post: false },
  ],
])("%s: which namespaces stop", (_, cluster, isNobodyListed, stops) => {
  const { made } = massEnd(cluster, { isNobodyListed: () => isNobodyListed });
  for (const [namespace, expected] of Object.entries(stops)) {
    expect(made.holdsBack(release("dead", namespace)), namespace).toBe(expected);
  }
});

describe("the operator's word", () => {
  it("for all of them lets all of them go", () => {
    expect(massEnd({ shop: [1000, 0] }, { isAllowed: true }).made.holdsBack(release("dead"))).toBe(false);
  });

  it.each([
    [1000, false],
    [999, true],
  ])("for 1,000 addresses of one namespace, where it is %i, and for no other namespace", (word, isStopped) => {
    const allowed = (namespace: string) => (namespace === "shop" ? word : 0);
    const { made } = massEnd({ shop: [1000, 0], bank: [100, 0] }, { allowed });
    expect(made.holdsBack(release("dead", "shop"))).toBe(isStopped);
    expect(made.holdsBack(release("dead", "bank"))).toBe(true);
  });

  it("for the only namespace that had VMs counts where no VM is listed", () => {
    const { made } = massEnd({ shop: [100, 0] }, { allowed: () => 100, isNobodyListed: () => true });
    expect(made.holdsBack(release("dead", "shop"))).toBe(false);
  });
});

it("is told once when it begins, and once when the VMs are back", async () => {
  const { made, told, all, clock } = massEnd({ shop: [60, 0] });
  for (let round = 0; round < 3; round++) made.holdsBack(release("dead"));
  expect(told).toEqual([expect.stringMatching(/^shop: .*60 of 60.*holdfast.io\/allow-mass-release=60/)]);
  all.splice(0);
  await clock.advance(100);
  expect(made.holdsBack(release("dead"))).toBe(false);
  expect(told.slice(1)).toEqual(["shop: "]);
});

it("says of a namespace that is missing what helps there: it has no annotations", () => {
  const { made, told } = massEnd({ shop: [60, 0] }, { allowed: () => undefined });
  expect(made.holdsBack(release("dead"))).toBe(true);
  expect(told).toEqual([
    expect.stringMatching(/^shop: .*is missing too.* kubectl create namespace shop, then delete it/),
  ]);
  const other = massEnd(
    { shop: [60, 0], bank: [60, 0], post: [60, 0] },
    { allowed: (name) => (name === "bank" ? undefined : 0) },
  );
  other.made.holdsBack(release("dead"));
  expect(other.told).toContainEqual(
    expect.stringMatching(/^: .* annotate the namespaces \(make those that are missing/),
  );
  expect(other.told).toContainEqual(expect.stringMatching(/^shop: .* kubectl annotate --overwrite namespace shop/));
});

it("says of a list in doubt how much is missing, and goes on when it is back", async () => {
  const { made, told, all, clock } = massEnd({ shop: [40, 0], bank: [60, 0] });
  made.holdsBack(release("dead"));
  expect(told).toEqual([expect.stringMatching(/^bank: /)]);
  all.push(...Array.from({ length: 20 }, () => heldFor("dead", "shop")));
  all.push(...Array.from({ length: 20 }, () => heldFor("dead", "post")));
  await clock.advance(100);
  made.holdsBack(release("dead"));
  expect(told.slice(1).toSorted()).toEqual([
    expect.stringMatching(/^: .*140 of 140 addresses in 3 namespaces/),
    expect.stringMatching(/^shop: /),
  ]);
  all.splice(0, 100, ...Array.from({ length: 100 }, () => heldFor("alive", "bank")));
  await clock.advance(100);
  expect(made.holdsBack(release("dead"))).toBe(false);
  expect(told.slice(3).toSorted()).toEqual([": ", "bank: ", "shop: "]);
});
