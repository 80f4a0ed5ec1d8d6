import { describe, expect, test } from "vitest";

import { maxClaimsAnnotation } from "../api/claim-marks.ts";
import { ManualClock } from "../kube/manual-clock.ts";
import { KubeClient } from "../kube/rest.ts";
import { FakeApi } from "../kube/testing/fake-api.ts";
import { claimLimit, ClaimQuota, claimsLeft } from "./quota.ts";

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

describe("what is read of namespaces", () => {
  const signal = new AbortController().signal;
  const world = (namespace: object | undefined) => {
    const api = new FakeApi();
    const clock = new ManualClock();
    const put = (object: object) => api.put("/api/v1/namespaces/t", { metadata: {}, ...object });
    if (namespace !== undefined) put(namespace);
    const client = new KubeClient({ transport: api.transport, clock });
    return { api, clock, put, quota: new ClaimQuota({ client, now: () => clock.wallMs() }) };
  };
  const limited = (text: string) => ({ metadata: { annotations: { [maxClaimsAnnotation]: text } } });

  test("a new limit counts within seconds, and until then nothing is read again", async () => {
    const { api, clock, put, quota } = world(limited("2"));
    expect(await quota.left("t", 1, signal)).toBe(1);
    put(limited("5"));
    expect(await quota.left("t", 1, signal)).toBe(1);
    expect(api.count("GET")).toBe(1);
    await clock.advance(5000);
    expect(await quota.left("t", 1, signal)).toBe(4);
  });

  test.each<[string, object | undefined, boolean]>([
    ["one that lives", { status: { phase: "Active" } }, false],
    ["one that is being deleted", { status: { phase: "Terminating" } }, true],
    ["one that is gone", undefined, true],
  ])("%s", async (_name, namespace, isTerminating) => {
    const { quota } = world(namespace);
    expect(await quota.look("t", signal)).toEqual({ limit: undefined, isTerminating });
  });
});
