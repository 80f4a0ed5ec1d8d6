// The same on the real API server, where it decides something: annotations are written by the pod's status and guarded
// by what was read; events and receipts are taken; watches tell of it all.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { pods } from "../../src/cluster/resources.ts";
import { isApiError } from "../../src/kube/errors.ts";
import { annotate, annotateOurs } from "../../src/migration/leader/annotate.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { realServer } from "../vmnet/real-server.ts";
import { Fixture, networksAnnotation } from "./fixture.ts";

const stamp = { "kubevirt.io/migration-target-ready-timestamp": "2026-11-15 04:34:18 +0000 UTC" };
const receipt = "holdfast.io/migration-receipt";

describe("on the real API server", { timeout: 120_000 }, () => {
  let f: Fixture;
  beforeAll(async () => {
    f = await Fixture.open(await realServer());
    await f.lead();
  }, coldStartTimeoutMs);
  afterAll(() => f?.close());

  it("a VM moves away, and that is on record", async () => {
    const vm = await f.started("vm1");
    const source = vm.instance!.active;
    const { target } = await f.migrated(vm, "n2");
    await f.shows("vm1", "n2 of n1: n2*");
    const before = (await f.annotationsOf(source))[networksAnnotation];
    expect((await f.annotationsOf(target))[networksAnnotation]).toBe(before);
    const text = await until(async () => (await f.annotationsOf(target))[receipt], { what: "the receipt" });
    expect(JSON.parse(text)).toMatchObject({ end: "succeeded", from: { node: "n1" }, to: { node: "n2" } });
    expect(await f.told("AddressMoved")).toHaveLength(1);
  });

  it("a VM whose target fails after it was ready is back at its source", async () => {
    const vm = await f.started("vm2");
    const migration = await f.begun(vm, "n2");
    await f.annotate(migration.target, stamp);
    await f.shows("vm2", "n2 of n1: n1 n2*");
    await migration.fail("exits");
    await f.shows("vm2", "n1 of n1: n1*");
    expect(await f.told("AddressMovedBack")).toHaveLength(1);
  });

  it("an annotation is refused where the pod has changed, or is another of that name", async () => {
    const vm = await f.started("vm3", "n3");
    const { at } = vm.instance!.active;
    const old = await f.client.get(pods, at);
    const { signal } = new AbortController();
    await annotateOurs(f.client, old, { "holdfast.io/test": "1" }, signal);
    const codeOf = (work: Promise<void>) =>
      work.then(
        () => "done",
        (error: unknown) => (isApiError(error) ? error.code : String(error)),
      );
    expect(await codeOf(annotate(f.client, old, { "holdfast.io/test": "2" }, signal))).toBe("conflict");
    const other = { ...old, metadata: { ...old.metadata, uid: "6d1d9f2e-0000-4000-8000-000000000000" } };
    expect(await codeOf(annotateOurs(f.client, other, { "holdfast.io/test": "3" }, signal))).toBe("invalid");
    expect(await codeOf(annotate(f.client, await f.client.get(pods, at), { "holdfast.io/test": "4" }, signal))).toBe(
      "done",
    );
    expect((await f.annotationsOf(vm.instance!.active))["holdfast.io/test"]).toBe("4");
  });
});
