import { describe, expect, test } from "vitest";

import { maxClaimsAnnotation } from "../../api/claims/claim-marks.ts";
import { KubeClient } from "../../kube/rest.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { claimLimit, claimsLeft, readNamespace } from "./quota.ts";

describe("the limit of a namespace", () => {
  test.each([
    ["12", 12],
    ["0", 0],
    ["", undefined],
    ["many", undefined],
    ["-1", undefined],
    ["1.5", undefined],
    ["1234567890", undefined],
  ])("%j reads as %s", (text, limit) => expect(claimLimit({ [maxClaimsAnnotation]: text })).toBe(limit));

  test("none is no limit", () => expect(claimLimit(undefined)).toBeUndefined());

  test.each([
    [undefined, 5, undefined],
    [3, 0, 3],
    [3, 2, 1],
    [3, 3, 0],
    [3, 9, 0],
    [0, 0, 0],
  ])("of %s with %d there, %s are left", (limit, count, left) => expect(claimsLeft(limit, count)).toBe(left));
});

describe("what is read of a namespace", () => {
  test.each<[string, object | undefined, object]>([
    ["one that lives", { status: { phase: "Active" } }, { limit: undefined, isTerminating: false }],
    [
      "one with a limit",
      { metadata: { annotations: { [maxClaimsAnnotation]: "2" } } },
      { limit: 2, isTerminating: false },
    ],
    ["one that is being deleted", { status: { phase: "Terminating" } }, { limit: undefined, isTerminating: true }],
    ["one that is gone", undefined, { limit: undefined, isTerminating: true }],
  ])("%s", async (_name, namespace, expected) => {
    const api = new FakeApi();
    if (namespace !== undefined) api.put("/api/v1/namespaces/t", { metadata: {}, ...namespace });
    const client = new KubeClient({ transport: api.transport });
    expect(await readNamespace(client, "t", new AbortController().signal)).toEqual(expected);
  });
});
