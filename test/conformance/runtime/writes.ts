// Reading and writing: pages, conflicts, patches, finalizers, credentials.
import { expect, test } from "vitest";

import { connect } from "../../../src/kube/config/connect.ts";
import { bearer, fixedCredentials } from "../../../src/kube/config/credentials.ts";
import { loadKubeconfig } from "../../../src/kube/config/kubeconfig.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { removeFinalizer } from "../../../src/kube/finalizer.ts";
import { configMaps, map, type Fixture } from "./fixture.ts";

export function writeTests(fixture: Fixture): void {
  test("list: by pages, consistent, and with selectors", async () => {
    const namespace = await fixture.space();
    const names = Array.from({ length: 25 }, (_, i) => `n${String(i).padStart(2, "0")}`);
    await Promise.all(
      names.map((each) =>
        fixture.client.create(configMaps, {
          metadata: { namespace, name: each, labels: { odd: String(Number(each.slice(1)) % 2) } },
        }),
      ),
    );
    const all = await fixture.client.list(configMaps, { namespace, pageSize: 7 });
    expect(all.items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(all.items.every(({ kind, apiVersion }) => kind === "ConfigMap" && apiVersion === "v1")).toBe(true);
    expect((await fixture.client.list(configMaps, { namespace, labelSelector: "odd=1" })).items).toHaveLength(12);
    expect(
      (await fixture.client.list(configMaps, { namespace, fieldSelector: "metadata.name=n03" })).items,
    ).toHaveLength(1);
    await fixture.client.deleteCollection(configMaps, { namespace, labelSelector: "odd=1" });
    expect((await fixture.client.list(configMaps, { namespace, pageSize: 5 })).items).toHaveLength(13);
  });

  test("conflicts: stale updates, second creates and mistaken deletes are refused by name", async () => {
    const namespace = await fixture.space();
    const made = await fixture.client.create(configMaps, map(namespace, "a"));
    await expect(fixture.client.create(configMaps, map(namespace, "a"))).rejects.toMatchObject({
      code: "already-exists",
    });
    await fixture.client.update(configMaps, { ...made, data: { value: "2" } });
    await expect(fixture.client.update(configMaps, { ...made, data: { value: "3" } })).rejects.toMatchObject({
      code: "conflict",
    });
    const at = { namespace, name: "a" };
    await expect(fixture.client.delete(configMaps, at, { preconditions: { uid: "another" } })).rejects.toMatchObject({
      code: "conflict",
    });
    const version = made.metadata.resourceVersion!;
    await expect(
      fixture.client.delete(configMaps, at, { preconditions: { resourceVersion: version } }),
    ).rejects.toMatchObject({ code: "conflict" });
    await expect(fixture.client.get(configMaps, { namespace, name: "nobody" })).rejects.toMatchObject({
      code: "not-found",
      reason: "NotFound",
    });
    await expect(fixture.client.create(configMaps, map(namespace, "Not_A_Name"))).rejects.toMatchObject({
      code: "invalid",
    });
    await fixture.client.delete(configMaps, at, { preconditions: { uid: made.metadata.uid! } });
  });

  test("conflicts: eight writers that read again on conflict lose no increment", async () => {
    const namespace = await fixture.space();
    await fixture.client.create(configMaps, map(namespace, "counter", "0"));
    const increment = async (): Promise<void> => {
      const now = await fixture.client.get(configMaps, { namespace, name: "counter" });
      const value = String(Number(now.data!["value"]) + 1);
      await fixture.client.update(configMaps, { ...now, data: { value } }).catch((error: unknown) => {
        if (!isApiError(error, "conflict")) throw error;
        return increment();
      });
    };
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 5; i++) await increment();
      }),
    );
    expect((await fixture.client.get(configMaps, { namespace, name: "counter" })).data).toEqual({ value: "40" });
  });

  test("lost answers: through a restart, what was acknowledged is there, and what is said not to have happened is not", async () => {
    const namespace = await fixture.space();
    /** Name -> what its writer was told. */
    const told = new Map<string, string>();
    let restarted = false;
    let afterwards = 0;
    const writer = async (id: number) => {
      for (let i = 0; afterwards < 100; i++) {
        const name = `w${id}-${i}`;
        const answer = await fixture.client.create(configMaps, map(namespace, name), { timeoutMs: 10_000 }).then(
          () => "acknowledged",
          (error: unknown) => (isApiError(error) ? error.code : String(error)),
        );
        told.set(name, answer);
        if (answer === "acknowledged") afterwards += restarted ? 1 : 0;
        else await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const writers = Array.from({ length: 8 }, (_, id) => writer(id));
    await fixture.server.restart();
    restarted = true;
    await Promise.all(writers);
    const { items } = await fixture.client.list(configMaps, { namespace });
    const there = new Set(items.map(({ metadata }) => metadata.name));
    const wrong = [...told].filter(
      ([name, answer]) => answer !== "outcome-unknown" && there.has(name) !== (answer === "acknowledged"),
    );
    expect(wrong).toEqual([]);
    expect(there.size).toBeGreaterThanOrEqual(100);
  });

  test("patches: JSON, merge, strategic and apply", async () => {
    const namespace = await fixture.space();
    const at = { namespace, name: "a" };
    await fixture.client.create(configMaps, map(namespace, "a"));
    await fixture.client.patch(configMaps, at, {
      type: "json",
      operations: [{ op: "add", path: "/data/json", value: "x" }],
    });
    await fixture.client.patch(configMaps, at, { type: "merge", body: { data: { merge: "x", value: null } } });
    await fixture.client.patch(configMaps, at, { type: "strategic", body: { data: { strategic: "x" } } });
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: at, data: { apply: "x" } };
    const after = await fixture.client.patch(
      configMaps,
      at,
      { type: "apply", body, force: true },
      { fieldManager: "suite" },
    );
    expect(after.data).toEqual({ json: "x", merge: "x", strategic: "x", apply: "x" });
    const failed = fixture.client.patch(configMaps, at, {
      type: "json",
      operations: [{ op: "test", path: "/data/json", value: "y" }],
    });
    await expect(failed).rejects.toMatchObject({ code: "invalid" });
    const dry = await fixture.client.patch(
      configMaps,
      at,
      { type: "merge", body: { data: { dry: "x" } } },
      { dryRun: true },
    );
    expect(dry.data!["dry"]).toBe("x");
    expect((await fixture.client.get(configMaps, at)).data).not.toHaveProperty("dry");
  });

  test("finalizers: the object stays until ours is removed, and others' are left alone", async () => {
    const namespace = await fixture.space();
    const at = { namespace, name: "a" };
    const ours = "holdfast.io/test";
    const { metadata } = await fixture.client.create(configMaps, map(namespace, "a"));
    const adding = (finalizer: string) =>
      fixture.client.patch(configMaps, at, {
        type: "json",
        operations: [
          { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion },
          { op: "add", path: "/metadata/finalizers", value: [finalizer] },
        ],
      });
    expect((await adding(ours)).metadata.finalizers).toEqual([ours]);
    await expect(adding("holdfast.io/stale")).rejects.toMatchObject({ code: "conflict" });
    const going = await fixture.client.delete(configMaps, at);
    expect(going?.metadata.deletionTimestamp).toBeDefined();
    const left = await fixture.client.get(configMaps, at);
    expect(await removeFinalizer(fixture.client, configMaps, left, ours)).toBe(true);
    await expect(fixture.client.get(configMaps, at)).rejects.toMatchObject({ code: "not-found" });
    expect(await removeFinalizer(fixture.client, configMaps, left, ours)).toBe(false);
  });

  test("a wrong token is unauthorized, and does nothing", async () => {
    const namespace = await fixture.space();
    const config = await loadKubeconfig({ path: fixture.server.kubeconfig });
    await using stranger = connect({ ...config, credentials: fixedCredentials(bearer("not-a-token")) });
    const refused = stranger.client.create(configMaps, map(namespace, "a"));
    await expect(refused).rejects.toMatchObject({ code: "unauthorized", status: 401 });
    await expect(fixture.client.get(configMaps, { namespace, name: "a" })).rejects.toMatchObject({ code: "not-found" });
  });
}
