// The same migrations on the real kube-apiserver, with the writers that they must keep out.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

import { ipPools } from "../../src/cluster/resources.ts";
import { realClock } from "../../src/kube/clock.ts";
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { apply } from "../../src/transfer/apply.ts";
import { plainGoal } from "../../src/transfer/plan/testing/goal.ts";
import { quiesce } from "../../src/transfer/quiesce/quiesce.ts";
import { configMapStore } from "../../src/transfer/record/record-config-map.ts";
import { rollback } from "../../src/transfer/rollback.ts";
import type { Cluster } from "../lab/cluster.ts";
import { cluster } from "../lab/start.ts";
import { pool, portrait, settleIn, system, village } from "./fixtures.ts";
import { transferSuite } from "./suite.ts";

let lab: Cluster;
const connections: Connection[] = [];
const never = new AbortController().signal;

async function clientOf(kubeconfig: string): Promise<KubeClient> {
  const connection = connect(await loadKubeconfig({ path: kubeconfig }), { userAgent: "holdfast migrate test" });
  connections.push(connection);
  return connection.client;
}

async function start() {
  lab = await cluster();
  const client = await clientOf(lab.kubeconfig);
  return {
    client,
    stop: async () => {
      for (const connection of connections) await connection[Symbol.asyncDispose]();
      await lab.stop();
    },
  };
}

/** The rules of the manifest, as the Job has them. */
function jobRules() {
  const text = readFileSync(join(import.meta.dirname, "..", "..", "deploy", "migrate", "rbac.yaml"), "utf8");
  const objects = parseAllDocuments(text).map((each) => each.toJS() as { kind: string; rules?: { verbs: string[] }[] });
  return objects.find(({ kind }) => kind === "ClusterRole")!.rules!;
}

transferSuite("kube-apiserver", start, (served) => {
  const fenceOptions = (client: KubeClient, id: string) => ({
    client,
    clock: realClock,
    systemNamespace: system,
    poolNamespace: system,
    id,
    sliceLeases: [],
    say: () => {},
    quietMs: { fenced: 50, unfenced: 50 },
    isHalfMoved: false,
    signal: never,
  });

  it("whoever heeds neither lease nor pause is denied by the server while the fence is up", async () => {
    const { client } = served();
    await settleIn(client, [pool("10.1.0.0-24", "10.1.0.0/24", {})]);
    const rules = [{ apiGroups: ["whereabouts.cni.cncf.io"], resources: ["*"], verbs: ["*"] }];
    const writer = await clientOf(
      (await lab.clientFor({ name: "lease-free-fork", namespace: system, rules })).kubeconfig,
    );
    const write = (n: number) =>
      writer.patch(
        ipPools,
        { namespace: system, name: "10.1.0.0-24" },
        { type: "merge", body: { spec: { allocations: { [n]: { id: "x", podref: "a/b" } } } } },
      );
    await write(1);
    const fence = await quiesce(fenceOptions(client, "fence-test"));
    await expect(write(2)).rejects.toThrow(/holdfast migrate fence-test moves the pools/);
    await expect(writer.delete(ipPools, { namespace: system, name: "10.1.0.0-24" })).rejects.toThrow(/moves the pools/);
    await expect(writer.create(ipPools, pool("10.7.0.0-24", "10.7.0.0/24", {}) as never)).rejects.toThrow(
      /moves the pools/,
    );
    await expect(quiesce(fenceOptions(client, "another"))).rejects.toMatchObject({ code: "paused-by-another" });
    await fence.lift();
    await write(3);
    expect(
      Object.keys((await client.get(ipPools, { namespace: system, name: "10.1.0.0-24" })).spec.allocations),
    ).toEqual(["1", "3"]);
  });

  it("a writer that uses the lease as whereabouts does writes before and after, and never in between", async () => {
    const { client } = served();
    await settleIn(client, [...village, pool("10.99.0.0-24", "10.99.0.0/24", {})]);
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL("upstream-process.ts", import.meta.url)), lab.kubeconfig, system, "10.99.0.0-24"],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const lines = createInterface({ input: child.stdout });
    const seen: string[] = [];
    lines.on("line", (line) => seen.push(line));
    const writes = () => seen.filter((line) => line === "wrote").length;
    try {
      await expect.poll(writes, { timeout: 60_000 }).toBeGreaterThan(2);
      // Without the policy, the lease alone must do.
      const fence = await quiesce({
        ...fenceOptions(withoutPolicies(client), "lease-test"),
        quietMs: { fenced: 0, unfenced: 2500 },
      });
      const during = writes();
      const before = await versionOf(client);
      await expect.poll(() => seen.filter((line) => line === "waiting").length, { timeout: 60_000 }).toBeGreaterThan(3);
      expect(await versionOf(client)).toBe(before);
      expect(writes()).toBe(during);
      await fence.lift();
      await expect.poll(writes, { timeout: 60_000 }).toBeGreaterThan(during);
    } finally {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    }
  });

  const versionOf = async (client: KubeClient) =>
    (await client.get(ipPools, { namespace: system, name: "10.99.0.0-24" })).metadata.resourceVersion;

  it("the Job's rights suffice, for the way there and back", async () => {
    const admin = served().client;
    await settleIn(admin, village);
    const before = await portrait(admin);
    const client = await clientOf(
      (await lab.clientFor({ name: "holdfast-migrate", namespace: system, rules: jobRules() })).kubeconfig,
    );
    const options = {
      client,
      clock: realClock,
      store: configMapStore(client, system, "holdfast-migration"),
      systemNamespace: system,
      newId: () => "job-test",
      say: () => {},
      quietMs: { fenced: 50, unfenced: 50 },
      signal: never,
    };
    expect(await apply({ ...options, goal: { ...plainGoal, to: "namespaced" }, editDefinitions: true })).toBe(
      "applied",
    );
    expect(await portrait(admin)).not.toEqual(before);
    expect(await rollback({ ...options, force: false })).toBe("rolled back");
    expect(await portrait(admin)).toEqual(before);
  });
});

/** The client of a server that has no policies: 1.29 and before. */
function withoutPolicies(client: KubeClient): KubeClient {
  return new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const resource = args[0] as { plural?: string };
        const hidden = resource.plural?.startsWith("validatingadmission") === true;
        if (!hidden) return (value as (...all: unknown[]) => unknown).apply(target, args);
        return target.get({ ...(args[0] as object), plural: "nothing-of-this-name" } as never, { name: "x" });
      };
    },
  });
}
