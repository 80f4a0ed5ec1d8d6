import { describe, expect, test } from "vitest";

import type { Cooling } from "../api/holds/hold-marks.ts";
import type { Hold, ReleaseRequest, TakeRequest } from "../ipam/ledger.ts";
import { type Owner, ownerKey } from "../ipam/owner.ts";
import { parseAddress } from "../net/address.ts";
import { judgeWrite, judgeTake, type TakeStep } from "./judgement.ts";

const address = parseAddress("10.0.0.7");
const web: Owner = { kind: "pod", uid: "u-1", namespace: "d", name: "web", interface: "net1", containerId: "c-1" };
const old: Owner = { ...web, containerId: "c-0" };
const nameless: Owner = { ...web, uid: "" };
const later: Owner = { ...web, uid: "u-2" };
const claim: Owner = { kind: "claim", uid: "u-1", namespace: "d", name: "web" };
const nowMs = 1000;

const hold = (owner: Owner): Hold => ({ domain: "network:", address, owner, version: "u@1" });
const rest = (lastOwner: Owner, untilMs: number): Cooling => ({ untilMs, lastOwner: ownerKey(lastOwner) });

describe("taking what is there already", () => {
  const stories: [string, { owner?: Owner; cooling?: Cooling; leaving?: true }, Partial<TakeRequest>, string][] = [
    ["nobody's", {}, {}, "write taken"],
    ["nobody's, resting after another", { cooling: rest(later, nowMs + 1) }, {}, "cooling"],
    ["nobody's, resting after me", { cooling: rest(web, nowMs + 1) }, {}, "write taken"],
    ["mine, for an earlier container, and as it is", { owner: old }, { asIs: true }, "yours"],
    ["mine, the same container", { owner: web }, {}, "yours"],
    ["mine, for an earlier container", { owner: old }, {}, "write yours"],
    ["mine, recorded without a UID", { owner: nameless }, {}, "write yours"],
    ["of a later pod of my name", { owner: later }, {}, "held"],
    ["of a claim with my UID", { owner: claim }, {}, "held"],
    ["mine, with a UID, and I ask without", { owner: web }, { owner: nameless }, "held"],
    ["mine, and early changes nothing", { owner: web }, { early: true }, "yours"],
    ["another's, and early changes nothing", { owner: later }, { early: true }, "held"],
    ["resting after another", { owner: later, cooling: rest(later, nowMs + 1) }, {}, "cooling"],
    [
      "resting after another, and it is needed",
      { owner: later, cooling: rest(later, nowMs + 1) },
      { early: true },
      "write taken",
    ],
    ["rested", { owner: later, cooling: rest(later, nowMs) }, {}, "write taken"],
    ["resting after me", { owner: web, cooling: rest(web, nowMs + 1) }, {}, "write taken"],
    [
      "resting after me, recorded without a UID",
      { owner: nameless, cooling: rest(nameless, nowMs + 1) },
      {},
      "write taken",
    ],
    ["mine, and being deleted", { owner: web, leaving: true }, {}, "wait"],
    ["another's, and being deleted", { owner: later, leaving: true }, {}, "held"],
    ["rested, and being deleted", { owner: later, cooling: rest(later, 0), leaving: true }, {}, "wait"],
    ["resting, and being deleted", { owner: later, cooling: rest(later, nowMs + 1), leaving: true }, {}, "cooling"],
  ];
  const shown = (step: TakeStep) =>
    step.kind === "answer" ? step.answer.outcome : step.kind === "write" ? `write ${step.outcome}` : step.kind;

  test.each(stories)("%s", (_what, { owner, cooling, leaving = false }, more, expected) => {
    const request = { domain: "network:", address, owner: web, ...more };
    expect(shown(judgeTake({ hold: owner && hold(owner), cooling, leaving }, request, nowMs))).toBe(expected);
  });
});

describe("releasing", () => {
  const stories: [string, { owner?: Owner; cooling?: Cooling }, Partial<ReleaseRequest>, string][] = [
    ["nobody's", {}, {}, "gone"],
    ["mine", { owner: web }, {}, "free"],
    ["mine, for another container, without a version", { owner: old }, {}, "free"],
    ["mine, at this version", { owner: web }, { version: "u@1" }, "free"],
    ["mine, at a newer version", { owner: web }, { version: "u@0" }, "superseded"],
    ["another's", { owner: later }, {}, "superseded"],
    ["another's, although the version is right", { owner: later }, { version: "u@1" }, "superseded"],
    ["recorded without a UID, and I am not asked for by that key", { owner: nameless }, {}, "superseded"],
    ["resting", { owner: web, cooling: rest(web, nowMs + 1) }, {}, "gone"],
  ];
  test.each(stories)("%s", (_what, { owner, cooling }, more, expected) => {
    const request = { domain: "network:", address, owner: ownerKey(web), cooldownMs: 0, ...more };
    expect(judgeWrite({ hold: owner && hold(owner), cooling }, request)?.outcome ?? "free").toBe(expected);
  });
});
