// What a migration promises, on a server that claims to be the Kubernetes API.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import {
  configMaps,
  ipPools,
  leases,
  networkAttachmentDefinitions,
  reservations,
} from "../../src/cluster/resources.ts";
import { fetchState, stateName } from "../../src/cluster/state.ts";
import { type ClaimOwner, ownerKey } from "../../src/ipam/owner.ts";
import { realClock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import { type ApplyOptions, apply } from "../../src/transfer/apply.ts";
import { fenceFor } from "../../src/transfer/migration.ts";
import { destinations } from "../../src/transfer/plan/goal.ts";
import { isEmpty, makePlan } from "../../src/transfer/plan/plan.ts";
import { readSurvey } from "../../src/transfer/plan/survey.ts";
import { plainGoal } from "../../src/transfer/plan/testing/goal.ts";
import { configMapStore } from "../../src/transfer/record/record-config-map.ts";
import { fileStore } from "../../src/transfer/record/record-file.ts";
import type { MigrationRecord } from "../../src/transfer/record/record.ts";
import { rollback } from "../../src/transfer/rollback.ts";
import {
  definition,
  installDefinitions,
  moveOut,
  pool,
  portrait,
  reservation,
  settleIn,
  system,
  village,
} from "./fixtures.ts";
import { importSuite } from "./import-suite.ts";

export interface Served {
  readonly client: KubeClient;
  readonly stop: () => Promise<void>;
}

const never = new AbortController().signal;

export function transferSuite(
  name: string,
  start: () => Promise<Served>,
  more: (served: () => Served) => void = () => {},
) {
  describe(name, () => {
    let served: Served;
    let client: KubeClient;
    let options: ApplyOptions;
    const lines: string[] = [];

    beforeAll(async () => {
      served = await start();
      client = served.client;
      await installDefinitions(client);
    }, 180_000);
    afterAll(() => served?.stop(), 60_000);

    beforeEach(() => {
      lines.length = 0;
      let ids = 0;
      options = {
        client,
        clock: realClock,
        store: fileStore(join(mkdtempSync(join(tmpdir(), "holdfast-migrate-")), "record.json")),
        systemNamespace: system,
        newId: () => `test-${Date.now()}-${ids++}`,
        say: (line) => lines.push(line),
        quietMs: { fenced: 50, unfenced: 50 },
        signal: never,
        goal: { ...plainGoal, to: "named" },
        editDefinitions: true,
      };
    });
    afterEach(async () => {
      expect((await fetchState(client, { namespace: system }))?.data?.["paused"] ?? "").toBe("");
      await moveOut(client);
    });

    const names = async (resource: typeof ipPools | typeof reservations) =>
      (await client.list(resource as typeof ipPools)).items
        .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
        .sort();
    const config = async (namespace: string, nad: string) =>
      JSON.parse((await client.get(networkAttachmentDefinitions, { namespace, name: nad })).spec!.config!) as {
        ipam: object;
      };

    it("names every network: pools and records move, definitions say so, what nobody knows stays", async () => {
      await settleIn(client, village);
      expect(await apply(options)).toBe("applied");
      expect(await names(ipPools)).toEqual([
        "kube-system/10.9.0.0-24",
        "kube-system/lan-10.1.0.0-24",
        "kube-system/solo-10.3.0.0-24",
        "kube-system/wan-10.2.0.0-24",
        "kube-system/wan-fd00-2---64",
      ]);
      expect(await names(reservations)).toEqual([
        "kube-system/10.9.0.1",
        "kube-system/lan-10.1.0.1",
        "kube-system/lan-10.1.0.2",
        "kube-system/lan-10.1.0.77",
        "kube-system/wan-10.2.0.7",
        "kube-system/wan-fd00-0002-0000-0000-0000-0000-0000-0007",
      ]);
      expect((await config("blue", "lan")).ipam).toEqual({
        type: "whereabouts",
        range: "10.1.0.0/24",
        network_name: "lan",
      });
      const moved = await client.get(ipPools, { namespace: system, name: "lan-10.1.0.0-24" });
      expect(Object.keys(moved.spec.allocations)).toEqual(["1", "2", "9"]);
      expect(lines.at(-1)).toBe("lifted: everybody may write again");
    });

    it.each(destinations)("to %s and back by the record: as it was", async (to) => {
      await settleIn(client, village);
      const before = await portrait(client);
      const goal = { ...plainGoal, to };
      const outcome = await apply({ ...options, goal });
      expect(outcome).toBe(to === "whereabouts" ? "nothing to do" : "applied");
      if (outcome === "nothing to do") return;
      expect(await portrait(client)).not.toEqual(before);
      expect(isEmpty(makePlan(await readSurvey(client, system, never), goal))).toBe(true);
      expect(await rollback({ ...options, force: false })).toBe("rolled back");
      expect(await portrait(client)).toEqual(before);
    });

    it("a claim's address goes there and back with its users, also with those that came meanwhile", async () => {
      await settleIn(client, village);
      const ledger = new ReservationLedger({ client, namespace: system, now: Date.now });
      const claim: ClaimOwner = { kind: "claim", uid: "claim-1", namespace: "blue", name: "vm.lan" };
      const users = [{ uid: "pod-1", name: "launcher-1", node: "n1" }];
      const note = { pool: `${system}/10.1.0.0-24`, identity: "vm-1/lan", why: "the lowest free one" };
      const address = parseAddress("10.1.0.60");
      await ledger.take({ domain: "network:", address, owner: claim, users, note });
      expect(await apply(options)).toBe("applied");
      const key = ownerKey(claim);
      const [there] = await ledger.find("network:lan", key);
      expect(there).toMatchObject({ owner: claim, users, note: { ...note, pool: `${system}/lan-10.1.0.0-24` } });
      expect(await ledger.find("network:", key)).toEqual([]);
      // The VM is migrated, and somebody forces its claim away: it is made anew.
      const anew = { ...claim, uid: "claim-2" };
      const younger = [{ uid: "pod-2", name: "launcher-2", node: "n2" }];
      await ledger.amend({
        domain: "network:lan",
        address,
        owner: key,
        version: there!.version,
        to: anew,
        users: younger,
      });
      expect(await rollback({ ...options, force: false })).toBe("rolled back");
      expect(await ledger.find("network:lan", ownerKey(anew))).toEqual([]);
      expect(await ledger.find("network:", key)).toEqual([]);
      expect(await ledger.find("network:", ownerKey(anew))).toMatchObject([{ owner: anew, users: younger, note }]);
    });

    it("a claim's address that a pod has by now is not gone back over", async () => {
      await settleIn(client, village);
      const ledger = new ReservationLedger({ client, namespace: system, now: Date.now });
      const claim: ClaimOwner = { kind: "claim", uid: "claim-1", namespace: "blue", name: "vm.lan" };
      const address = parseAddress("10.1.0.60");
      await ledger.take({ domain: "network:", address, owner: claim, note: { pool: `${system}/10.1.0.0-24` } });
      await apply(options);
      await ledger.release({ domain: "network:lan", address, owner: ownerKey(claim), cooldownMs: 0 });
      const pod = { kind: "pod", uid: "u", namespace: "blue", name: "late", interface: "net1" } as const;
      await ledger.take({ domain: "network:lan", address, owner: pod });
      await expect(rollback({ ...options, force: false })).rejects.toMatchObject({ code: "would-lose" });
    });

    it("keeps its record in ConfigMaps, too", async () => {
      await settleIn(client, village);
      const before = await portrait(client);
      const store = configMapStore(client, system, "migration-of-the-test");
      expect(await apply({ ...options, store })).toBe("applied");
      expect((await client.get(configMaps, { namespace: system, name: "migration-of-the-test" })).data).toMatchObject({
        state: "applied",
      });
      expect(await rollback({ ...options, store, force: false })).toBe("rolled back");
      expect(await portrait(client)).toEqual(before);
    });

    it("refuses to change anything without the definitions", async () => {
      await settleIn(client, village);
      const before = await portrait(client);
      await expect(apply({ ...options, editDefinitions: false })).rejects.toMatchObject({ code: "conflict" });
      expect(await portrait(client)).toEqual(before);
    });

    it("does not go back over an address that was given since, but for --force", async () => {
      await settleIn(client, village);
      const before = await portrait(client);
      await apply(options);
      await client.create(reservations, reservation("lan-10.1.0.50", "blue/new") as never);
      const refusal = rollback({ ...options, force: false });
      await expect(refusal).rejects.toMatchObject({ code: "would-lose" });
      await expect(refusal).rejects.toThrow(/10\.1\.0\.50 blue\/new net1/);
      expect(await rollback({ ...options, force: true })).toBe("rolled back");
      await client.delete(reservations, { namespace: system, name: "lan-10.1.0.50" });
      expect(await portrait(client)).toEqual(before);
    });

    it("takes back what it did when a name is in the way, and lets everybody write again", async () => {
      await settleIn(client, village);
      const before = await portrait(client);
      // Between the plan's record and its execution: only a writer that no fence holds does this.
      const store = {
        ...options.store,
        save: async (...args: Parameters<typeof options.store.save>) => {
          await options.store.save(...args);
          if (args[0].state === "applying")
            await client.create(ipPools, pool("wan-10.2.0.0-24", "10.2.0.0/24", { "8": ["x/y"] }) as never);
        },
      };
      await expect(apply({ ...options, store })).rejects.toMatchObject({ code: "in-the-way" });
      await client.delete(ipPools, { namespace: system, name: "wan-10.2.0.0-24" }).catch((error: unknown) => {
        if (!isApiError(error, "not-found")) throw error;
      });
      expect(await portrait(client)).toEqual(before);
    });

    it("a second migration does not overwrite the record of the first", async () => {
      await settleIn(client, village);
      await apply(options);
      await expect(apply({ ...options, goal: { ...plainGoal, to: "namespaced" } })).rejects.toThrow(
        /can still be rolled back/,
      );
      expect(await apply(options)).toBe("nothing to do");
    });

    it("a record of another cluster is refused", async () => {
      await settleIn(client, [
        definition("blue", "lan", { range: "10.1.0.0/24" }),
        pool("10.1.0.0-24", "10.1.0.0/24", {}),
      ]);
      await apply(options);
      const record = (await options.store.load(never))!;
      await options.store.save({ ...record, cluster: "another" }, never);
      await expect(rollback({ ...options, force: false })).rejects.toMatchObject({ code: "wrong-cluster" });
    });

    it("called off half-way, it takes back what it did", async () => {
      await settleIn(client, village);
      const before = await portrait(client);
      const stop = new AbortController();
      const say = (line: string) => {
        lines.push(line);
        if (line.includes("edit NetworkAttachmentDefinition")) stop.abort(new Error("called off"));
      };
      await expect(apply({ ...options, say, signal: stop.signal })).rejects.toThrow(/called off/);
      expect(lines).toContain("going back to how it was");
      expect(await portrait(client)).toEqual(before);
      expect((await options.store.load(never))?.state).toBe("rolled-back");
    });

    it("what could not be taken back stays fenced, by whereabouts' Lease too, until the same migration goes on", async () => {
      await settleIn(client, village);
      let isGone = false;
      const answers = new Set(["leases", "configmaps"]);
      const ailing = new Proxy(client, {
        get: (target, key) => {
          const member: unknown = Reflect.get(target, key);
          if (typeof member !== "function") return member;
          return (resource: { readonly plural?: string }, ...rest: unknown[]) =>
            isGone && !answers.has(resource.plural ?? "")
              ? Promise.reject(new Error("the server is gone"))
              : (member.call(target, resource, ...rest) as unknown);
        },
      });
      const say = (line: string) => {
        lines.push(line);
        isGone ||= line.includes("edit NetworkAttachmentDefinition");
      };
      await expect(apply({ ...options, client: ailing, say })).rejects.toThrow(/the server is gone/);
      const holder = async () => (await client.get(leases, { namespace: system, name: "whereabouts" })).spec;
      const { id } = (await options.store.load(never))!;
      expect(lines.join("\n")).toContain("could not go back either");
      expect((await holder())?.holderIdentity).toBe(`holdfast-migrate/${id}`);
      expect((await fetchState(client, { namespace: system }))?.data?.["paused"]).toContain(id);
      expect(await apply(options)).toBe("applied");
      expect((await holder())?.holderIdentity ?? "").toBe("");
    });

    it("whereabouts' Lease is held where its pools are", async () => {
      const at = { namespace: system, name: stateName };
      const data = { paused: "", "pool-namespace": "default" };
      if ((await fetchState(client, { namespace: system })) !== undefined) await client.delete(configMaps, at);
      await client.create(configMaps, { metadata: at, data });
      try {
        const fence = await fenceFor(options, { id: "elsewhere" } as MigrationRecord, false);
        const { spec } = await client.get(leases, { namespace: "default", name: "whereabouts" });
        await fence.lift();
        expect(spec?.holderIdentity).toBe("holdfast-migrate/elsewhere");
      } finally {
        await client.delete(configMaps, at);
      }
    });

    importSuite(() => client);

    more(() => served);
  });
}
