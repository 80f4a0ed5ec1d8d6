import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  claimFinalizer,
  claimOwnerAnnotation,
  continuesAnnotation,
  managedLabelName,
  requestedAnnotation,
} from "../../api/claims/claim-marks.ts";
import { type CreationFacts, isNear, judgeCreation } from "./claim-rules.ts";
import { claim, owned, words } from "./testing/claim.ts";

describe("create", () => {
  const networks = [
    { namespace: "t", name: "blue", network: "blue-net" },
    { namespace: "t", name: "green", network: "green-net" },
    { namespace: "elsewhere", name: "red", network: "red-net" },
  ];
  const facts: CreationFacts = {
    claim: claim(),
    namespace: "t",
    networks,
    limit: undefined,
    count: 0,
    isOverridden: false,
  };
  const restored = { labels: { "velero.io/restore-name": "monday" } };
  test.each<[string, Partial<CreationFacts>, string]>([
    ["a network that is there", {}, "allowed"],
    ["one of a definition of another namespace", { claim: claim({}, "red-net") }, "allowed"],
    ["definitions that are not known", { claim: claim({}, "x"), networks: undefined }, "allowed"],
    [
      "the definition's name instead of the network's",
      { claim: claim({}, "blue") },
      "calls its network blue-net: write that",
    ],
    ["a slip of the hand", { claim: claim({}, "blu-net") }, "Those of t are blue-net."],
    ["something else altogether", { claim: claim({}, "orange") }, "Those of t are blue-net, green-net."],
    ["nothing", { claim: claim({}, "") }, "Those of t are blue-net, green-net."],
    ["no definition in the namespace", { claim: claim({}, "x"), namespace: "empty" }, "make the definition first"],
    ["unknown, from a backup: its network comes later", { claim: claim(restored, "x"), isOverridden: true }, "allowed"],
    ["unknown, overridden", { claim: claim({}, "x"), isOverridden: true }, "allowed"],
    ["room left", { limit: 2, count: 1 }, "allowed"],
    ["no room left", { limit: 2, count: 2 }, "may have 2 claims (annotation holdfast.io/max-claims) and has 2"],
    ["more than there may be since the limit was lowered", { limit: 1, count: 5 }, "may have 1 claims"],
    ["from a backup, and no room left", { claim: claim(restored), limit: 1, count: 1 }, "may have 1 claims"],
    ["marks of ours, by another", { claim: owned() }, `the annotation ${claimOwnerAnnotation}`],
    [
      "a claim that would continue another's",
      { claim: claim({ annotations: { [continuesAnnotation]: "u" } }) },
      `the annotation ${continuesAnnotation}`,
    ],
    ["our finalizer, by another", { claim: claim({ finalizers: [claimFinalizer] }) }, "the finalizer"],
    ["our label, by another", { claim: claim({ labels: { [managedLabelName]: "true" } }) }, "the label"],
    ["marks of ours, from a backup", { claim: owned(restored), isOverridden: true }, "allowed"],
    ["marks of ours, as if from a backup", { claim: owned(restored) }, `the annotation ${claimOwnerAnnotation}`],
    ["marks of ours, overridden", { claim: owned(), isOverridden: true }, "allowed"],
    [
      "addresses asked for by hand",
      { claim: claim({ annotations: { [requestedAnnotation]: "10.0.0.7" } }) },
      "allowed",
    ],
    [
      "a name that is still to be made",
      { claim: { ...claim({}, "x"), metadata: { generateName: "c-" } } },
      "IPAMClaim t/c-",
    ],
  ])("%s", (_name, more, expected) => expect(words(judgeCreation({ ...facts, ...more }))).toContain(expected));

  test("a network of another tenant is not given away", () => {
    expect(words(judgeCreation({ ...facts, claim: claim({}, "red-ne") }))).not.toContain("red-net");
  });

  test("what is let through although its network is unknown is said", () => {
    expect(judgeCreation({ ...facts, claim: claim(restored, "x"), isOverridden: true }).warnings).toHaveLength(1);
  });

  /** The slow way: all words that are two changes away. */
  test("near is two letters changed, added or left out", () => {
    const letters = ["a", "b"];
    const once = (word: string) => [
      ...Array.from(word, (_, at) => word.slice(0, at) + word.slice(at + 1)),
      ...Array.from({ length: word.length + 1 }, (_, at) =>
        letters.map((letter) => word.slice(0, at) + letter + word.slice(at)),
      ).flat(),
      ...Array.from(word, (_, at) => letters.map((letter) => word.slice(0, at) + letter + word.slice(at + 1))).flat(),
    ];
    const word = fc.string({ unit: fc.constantFrom(...letters), maxLength: 5 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const all = new Set([a, ...once(a), ...once(a).flatMap(once)]);
        expect(isNear(a, b)).toBe(all.has(b));
      }),
    );
  });
});
