import { expect, it } from "vitest";

import { claimOwnerAnnotation } from "../api/claim-marks.ts";
import { ManualClock } from "../kube/manual-clock.ts";
import { parseAddress } from "../net/address.ts";
import type { HeldClaim } from "./holds.ts";
import { MassEnd } from "./mass-end.ts";
import type { ClaimStep } from "./plan/steps.ts";

const heldFor = (uid: string | undefined): HeldClaim => ({
  namespace: "kube-system",
  hold: {
    domain: "network:net",
    address: parseAddress("10.0.0.7"),
    owner: { kind: "claim", uid: "c", namespace: "ns", name: "c" },
    version: "1",
    ...(uid !== undefined && { note: { identity: `${uid}/blue` } }),
  },
});
const release = (uid: string | undefined): ClaimStep => ({
  kind: "release",
  hold: { ...heldFor(uid), network: "net" },
  why: "",
});
const claim = (uid: string) => ({
  metadata: { name: "c", annotations: { [claimOwnerAnnotation]: uid } },
  spec: { network: "net", interface: "" },
});

function massEnd(lost: number, living: number, isAllowed = false) {
  const clock = new ManualClock();
  const told: string[] = [];
  const all = [...Array(lost).fill("dead"), ...Array(living).fill("alive")].map((uid: string) => heldFor(uid));
  const lives = (uid: string) => uid === "alive";
  const made = new MassEnd({ clock, held: () => all, lives, isAllowed, onChange: (why) => told.push(why) });
  return { made, told, all, clock };
}

it.each([
  ["few, though they are all", 50, 0, false],
  ["many, and a small part", 60, 200, false],
  ["many, and a large part", 60, 100, true],
  ["all", 1000, 0, true],
])("owners that are gone: %s", (_, lost, living, expected) => {
  const { made } = massEnd(lost, living);
  expect(made.holdsBack(release("dead"))).toBe(expected);
  expect(made.holdsBack({ kind: "delete", claim: claim("dead"), why: "" })).toBe(expected);
  expect(made.holdsBack({ kind: "drop-finalizer", claim: claim("dead"), why: "" })).toBe(expected);
});

it("what a living VM gives back, what has no owner, and all other steps are not held back", () => {
  const { made } = massEnd(1000, 0);
  expect(made.holdsBack(release("alive"))).toBe(false);
  expect(made.holdsBack(release(undefined))).toBe(false);
  expect(made.holdsBack({ kind: "again", afterMs: 1 })).toBe(false);
});

it("the operator's word lets all of them go", () => {
  expect(massEnd(1000, 0, true).made.holdsBack(release("dead"))).toBe(false);
});

it("is told once when it begins, and once when the VMs are back", async () => {
  const { made, told, all, clock } = massEnd(60, 0);
  for (let round = 0; round < 3; round++) made.holdsBack(release("dead"));
  expect(told).toEqual([expect.stringContaining("60 of 60")]);
  all.splice(0);
  await clock.advance(100);
  expect(made.holdsBack(release("dead"))).toBe(false);
  expect(told).toHaveLength(2);
});
