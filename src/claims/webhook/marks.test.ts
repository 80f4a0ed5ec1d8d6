import { describe, expect, test } from "vitest";

import {
  claimFinalizer,
  claimInstanceAnnotation,
  claimNicAnnotation,
  claimOwnerAnnotation,
  macLabelName,
  managedLabelName,
  overrideAnnotation,
  requestedAnnotation,
} from "../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import { asksToOverride, judgeUpdate } from "./claim-rules.ts";
import { claim, type Metadata, owned, words } from "./testing/claim.ts";

describe("update", () => {
  const before = owned({
    labels: { [managedLabelName]: "true", [macLabelName]: "02-00-00-00-00-01" },
    finalizers: [claimFinalizer],
  });
  const after = (metadata: Partial<Metadata>): StoredClaim => ({
    ...before,
    metadata: { ...before.metadata, ...metadata },
  });
  const judge = (change: StoredClaim, more: { isTrusted?: boolean; isOverridden?: boolean } = {}, from = before) =>
    judgeUpdate({ before: from, after: change, isTrusted: false, isOverridden: false, ...more });
  const annotations = { ...before.metadata.annotations };

  test.each<[string, StoredClaim, string]>([
    ["nothing", before, "allowed"],
    ["a label of his own", after({ labels: { ...before.metadata.labels, team: "a" } }), "allowed"],
    ["an annotation of his own", after({ annotations: { ...annotations, note: "x" } }), "allowed"],
    ["an owner reference: garbage collection's", after({ ownerReferences: [] }), "allowed"],
    ["another finalizer", after({ finalizers: [claimFinalizer, "example.com/backup"] }), "allowed"],
    ["a field of the spec that we do not know", { ...before, spec: { ...before.spec, ipRequests: ["x"] } }, "allowed"],
    ["the owner", after({ annotations: { ...annotations, [claimOwnerAnnotation]: "me" } }), claimOwnerAnnotation],
    ["the NIC away", after({ annotations: { [claimOwnerAnnotation]: "vm" } }), claimNicAnnotation],
    [
      "an instance",
      after({ annotations: { ...annotations, [claimInstanceAnnotation]: "x" } }),
      claimInstanceAnnotation,
    ],
    ["all labels away", after({ labels: {} }), managedLabelName],
    ["the MAC of a claim of ours", after({ labels: { [managedLabelName]: "true" } }), macLabelName],
    [
      "what a claim of ours asked for",
      after({ annotations: { ...annotations, [requestedAnnotation]: "10.0.0.9" } }),
      requestedAnnotation,
    ],
    ["our finalizer away", after({ finalizers: [] }), claimFinalizer],
    ["the network", { ...before, spec: { ...before.spec, network: "red-net" } }, 'spec.network is "blue-net"'],
    ["the interface", { ...before, spec: { ...before.spec, interface: "net1" } }, 'spec.interface is ""'],
  ])("%s", (_name, change, expected) => expect(words(judge(change))).toContain(expected));

  test("a claim made by hand: its owner asks for addresses, and gives himself no owner and no finalizer", () => {
    const hand = claim();
    const asking = claim({ annotations: { [requestedAnnotation]: "10.0.0.7" }, labels: { [macLabelName]: "x" } });
    expect(words(judge(asking, {}, hand))).toBe("allowed");
    expect(words(judge(owned(), {}, hand))).toContain(claimOwnerAnnotation);
    expect(words(judge(claim({ finalizers: [claimFinalizer] }), {}, hand))).toContain(claimFinalizer);
  });

  test("we write our marks; the spec nobody changes", () => {
    expect(words(judge(after({ annotations: {}, finalizers: [] }), { isTrusted: true }))).toBe("allowed");
    const moved = { ...before, spec: { ...before.spec, network: "red-net" } };
    expect(words(judge(moved, { isTrusted: true, isOverridden: true }))).toContain("cannot become");
  });

  test("overridden: allowed, and said", () => {
    const reply = judge(after({ finalizers: [] }), { isOverridden: true });
    expect(words(reply)).toBe("allowed");
    expect(reply.warnings).toEqual([expect.stringContaining(claimFinalizer)]);
  });

  test.each([
    [undefined, "restored", true],
    ["restored", "restored again", true],
    ["restored", "restored", false],
    [undefined, "  ", false],
    ["restored", undefined, false],
  ])("override: %j before, %j now", (old, now, expected) => {
    const said = (text: string | undefined) =>
      claim({ annotations: text === undefined ? {} : { [overrideAnnotation]: text } });
    expect(asksToOverride(said(old), said(now))).toBe(expected);
  });
});
