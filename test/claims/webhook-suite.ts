// What the webhooks do to pods and claims, on any API server: through real TLS, by the server's own rules of admission.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  claimFinalizer,
  claimOwnerAnnotation,
  managedLabelName,
  maxClaimsAnnotation,
  overrideAnnotation,
} from "../../src/api/claims/claim-marks.ts";
import { moveAll } from "../../src/claims/moves/move-all.ts";
import { readClaims } from "../../src/claims/moves/snapshot.ts";
import { planTakeover } from "../../src/claims/moves/takeover.ts";
import { ipamClaims, pods, virtualMachines } from "../../src/cluster/resources.ts";
import { realClock } from "../../src/kube/clock.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { until } from "../lab/wait.ts";
import { plug, unplug } from "./kubevirt/hotplug.ts";
import { networksAnnotation } from "./kubevirt/objects.ts";
import { ownedBy, scenes } from "./webhook-cases.ts";
import { deletionStories } from "./webhook-deletions.ts";
import { claimOf, type WebhookServer, Fixture } from "./webhook-fixture.ts";

const storyMs = 120_000;

export function webhookStories(server: string, open: () => Promise<WebhookServer>, startMs: number): void {
  describe(`webhooks on ${server}`, { timeout: storyMs }, () => {
    let fixture: Fixture;
    beforeAll(async () => void (fixture = await Fixture.open(await open())), startMs);
    afterAll(() => fixture?.close(), 60_000);

    const { referencesOf, machineOn, claimFor, nameOf, letGo } = scenes(() => fixture);

    describe("launcher pods", () => {
      test("every NIC refers to its own claim, two of one network too, and a missing network takes nothing from others", async () => {
        const namespace = await fixture.namespace();
        const machine = await machineOn(namespace, ["a=blue", "b=blue", "c=nowhere", "d=green"]);
        expect(await referencesOf(machine)).toEqual(["blue vm1.a", "blue vm1.b", "nowhere -", "green vm1.d"]);
      });

      test("a NIC that is plugged into a running VM refers to its claim; the others keep theirs, and so when it goes", async () => {
        const namespace = await fixture.namespace();
        const machine = await machineOn(namespace, ["a=blue"]);
        await plug(fixture.kubevirt, machine, { name: "late", definition: "green" }, "in place");
        expect(await referencesOf(machine)).toEqual(["blue vm1.a", "green vm1.late"]);
        await unplug(fixture.kubevirt, machine, "late", "in place");
        expect(await referencesOf(machine)).toEqual(["blue vm1.a"]);
      });

      test("a claim of an earlier VM of that name is not referred to", async () => {
        const namespace = await fixture.namespace();
        const old = await machineOn(namespace, ["a=blue"]);
        const claim = await claimFor(old, "a");
        await fixture.kubevirt.delete(old, "Background");
        await until(async () => (await fixture.claim(namespace, "vm1.a")).metadata.deletionTimestamp !== undefined, {
          what: "garbage collection, which no webhook stops",
        });
        expect(await referencesOf(await machineOn(namespace, ["a=blue"]))).toEqual(["blue -"]);
        await letGo(claim);
      });

      test("the first interface on a primary network refers to its claim, and asks for the address that the VM asks for", async () => {
        const namespace = await fixture.primaryNamespace("10.1.0.0/16,fd00:1::/64");
        const annotations = { "network.kubevirt.io/addresses": '{"default":["10.1.2.3"]}' };
        const machine = await fixture.kubevirt.create({ namespace, name: "vm1", nics: [], annotations });
        await fixture.kubevirt.start(machine);
        const { name } = machine.instance!.active;
        const { metadata } = await fixture.server.admin.get(pods, { namespace, name });
        expect(metadata.annotations?.["k8s.ovn.org/primary-udn-ipamclaim"]).toBe("vm1.default");
        expect(JSON.parse(metadata.annotations?.["v1.multus-cni.io/default-network"] ?? "null")).toEqual([
          { name: "default", namespace, ips: ["10.1.2.3/16"], "ipam-claim-reference": "vm1.default" },
        ]);
      });

      test("one of a VM that keeps out, and one of no VM, are as they were", async () => {
        const namespace = await fixture.namespace();
        const labels = { "allow-persistent-ips.k8s.cni.cncf.io": "false" };
        const out = await fixture.kubevirt.create({
          namespace,
          name: "out",
          nics: [{ name: "a", definition: "blue" }],
          labels,
        });
        await fixture.kubevirt.start(out);
        expect(await referencesOf(out)).toEqual(["blue -"]);
        const text = '[{"name":"blue","interface":"net1"},7';
        const odd = await fixture.server.admin.create(pods, {
          metadata: {
            namespace,
            name: "odd",
            labels: { "kubevirt.io": "virt-launcher" },
            annotations: { [networksAnnotation]: text, "kubevirt.io/domain": "nobody" },
          },
          spec: { containers: [{ name: "c", image: "none" }] } as object,
        });
        expect(odd.metadata.annotations?.[networksAnnotation]).toBe(text);
      });
    });

    describe("creating claims", () => {
      test("a network that nobody defines is refused with what was meant; one defined this moment is taken", async () => {
        const namespace = await fixture.namespace();
        const { tenant } = fixture.server;
        await expect(tenant.create(ipamClaims, claimOf(namespace, "hand", "blue"))).rejects.toThrow(
          `calls its network blue-${namespace}: write that`,
        );
        await fixture.define(namespace, "red");
        const made = await tenant.create(ipamClaims, claimOf(namespace, "hand", `red-${namespace}`));
        expect(made.metadata.uid).toBeDefined();
      });

      test("no more than the namespace may have", async () => {
        const namespace = await fixture.namespace({ [maxClaimsAnnotation]: "2" });
        const { tenant } = fixture.server;
        for (const name of ["one", "two"])
          await tenant.create(ipamClaims, claimOf(namespace, name, `blue-${namespace}`));
        await expect(tenant.create(ipamClaims, claimOf(namespace, "three", `blue-${namespace}`))).rejects.toThrow(
          "may have 2 claims",
        );
        await tenant.delete(ipamClaims, { namespace, name: "one" });
        await tenant.create(ipamClaims, claimOf(namespace, "three", `blue-${namespace}`));
      });

      test("marks of ours are not for others to set, but come back from a backup of whoever may override", async () => {
        const namespace = await fixture.namespace();
        const { tenant } = fixture.server;
        const annotations = { [claimOwnerAnnotation]: "somebody" };
        const stolen = claimOf(namespace, "x", `blue-${namespace}`, { annotations });
        await expect(tenant.create(ipamClaims, stolen)).rejects.toThrow(claimOwnerAnnotation);
        const labels = { "velero.io/restore-name": "monday" };
        const restored = claimOf(namespace, "x", "a network that comes later", { annotations, labels });
        if (fixture.server.hasRights)
          await expect(tenant.create(ipamClaims, restored)).rejects.toThrow(claimOwnerAnnotation);
        await fixture.server.admin.create(ipamClaims, restored);
      });
    });

    describe("changing claims", () => {
      test("spec and marks stay; what is not ours may change; the controller writes its marks", async () => {
        const namespace = await fixture.namespace();
        const machine = await machineOn(namespace, ["a=blue"]);
        const claim = await claimFor(machine, "a");
        const patch = (who: "tenant" | "controller" | "admin", body: object) =>
          fixture.server[who].patch(ipamClaims, nameOf(claim), { type: "merge", body });
        await expect(patch("tenant", { spec: { network: "red" } })).rejects.toThrow("cannot become");
        await expect(patch("controller", { spec: { interface: "net1" } })).rejects.toThrow("cannot become");
        await expect(patch("tenant", { metadata: { finalizers: null } })).rejects.toThrow(claimFinalizer);
        const owner = { metadata: { annotations: { [claimOwnerAnnotation]: "me" } } };
        await expect(patch("tenant", owner)).rejects.toThrow(claimOwnerAnnotation);
        await expect(patch("admin", owner)).rejects.toThrow(overrideAnnotation);
        await patch("tenant", { metadata: { labels: { team: "a" } } });
        await patch("controller", { metadata: { annotations: { "holdfast.io/claim-instance": "x" } } });
        const overriding = {
          metadata: { annotations: { [claimOwnerAnnotation]: "me", [overrideAnnotation]: "a test" } },
        };
        if (fixture.server.hasRights) await expect(patch("tenant", overriding)).rejects.toThrow(claimOwnerAnnotation);
        const changed = await patch("admin", overriding);
        expect(changed.metadata.annotations?.[claimOwnerAnnotation]).toBe("me");
        // The same word a second time opens nothing.
        const again = { metadata: { annotations: { [claimOwnerAnnotation]: "you", [overrideAnnotation]: "a test" } } };
        await expect(patch("admin", again)).rejects.toThrow(claimOwnerAnnotation);
        await letGo(claim);
      });
    });

    test("an administrator takes over a claim of ipam-extensions through the webhook, which lets nobody else", async () => {
      const namespace = await fixture.namespace();
      const machine = await machineOn(namespace, ["a=blue"]);
      const { admin, tenant } = fixture.server;
      const vm = await admin.get(virtualMachines, machine.at);
      const theirs = claimOf(namespace, "vm1.a", `blue-${namespace}`, {
        finalizers: ["kubevirt.io/persistent-ipam"],
        labels: { "kubevirt.io/vm": "vm1" },
        ownerReferences: [ownedBy(vm)],
      });
      const claim = await tenant.create(ipamClaims, theirs);
      const { signal } = new AbortController();
      const takeOver = (client: KubeClient) =>
        moveAll({
          client,
          clock: realClock,
          signal,
          ledgerOf: (at) => new ReservationLedger({ client, namespace: at, now: Date.now }),
          look: () => readClaims({ client: admin, systemNamespace: "kube-system", namespace, now: Date.now, signal }),
          plan: planTakeover,
          dryRun: false,
          say: () => {},
        });
      if (fixture.server.hasRights) expect(await takeOver(tenant)).toMatchObject({ moved: 0, refused: 1 });
      expect(await takeOver(admin)).toMatchObject({ moved: 1, refused: 0 });
      const { metadata } = await fixture.claim(namespace, "vm1.a");
      expect(metadata).toMatchObject({ uid: claim.metadata.uid, finalizers: [claimFinalizer] });
      expect(metadata.annotations?.[claimOwnerAnnotation]).toBe(vm.metadata.uid);
      await letGo(claim);
    });

    deletionStories(() => fixture);

    test("with the controller away everything goes on, unreferenced and unprotected; and when it is back it is as before", async () => {
      const namespace = await fixture.namespace();
      const machine = await machineOn(namespace, ["a=blue"]);
      const claim = await claimFor(machine, "a");
      await fixture.halt();
      const other = await machineOn(namespace, ["a=blue"], "vm2");
      expect(await referencesOf(other)).toEqual(["blue -"]);
      await fixture.server.tenant.create(ipamClaims, claimOf(namespace, "hand", "no such network"));
      const patch = { type: "merge", body: { metadata: { labels: { [managedLabelName]: null } } } } as const;
      await fixture.server.tenant.patch(ipamClaims, nameOf(claim), patch);
      await fixture.server.tenant.delete(ipamClaims, nameOf(claim));
      expect((await fixture.claim(namespace, "vm1.a")).metadata.finalizers).toContain(claimFinalizer);
      await fixture.start();
      expect(await referencesOf(await machineOn(namespace, ["a=blue"], "vm3"))).toEqual(["blue vm3.a"]);
      // The pod that came meanwhile is attached as it is.
      await plug(fixture.kubevirt, other, { name: "b", definition: "green" }, "in place");
      expect(await referencesOf(other)).toEqual(["blue -", "green vm2.b"]);
      await letGo(claim);
    });

    test("no answer failed meanwhile", () => expect(fixture.errors).toEqual([]));
  });
}
