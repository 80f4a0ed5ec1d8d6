// What kubevirt/ipam-extensions gets wrong, and its deadlock with OVN-Kubernetes: none happens here, on a cluster of a
// real leader, real daemons and a played KubeVirt. Rows d1 and x1 to x12 of docs/complaints.md.
import { expect } from "vitest";

import { claims } from "../claims/claim-objects.ts";
import { edit, remove } from "../claims/kubevirt/edit.ts";
import { unplug } from "../claims/kubevirt/hotplug.ts";
import { type Element, networksAnnotation, pods } from "../claims/kubevirt/objects.ts";
import type { StoryFixture } from "../claims/stories/fixture.ts";
import { addressesOf, conditionOf } from "../claims/stories/sight.ts";
import { onEmbedded } from "../claims/stories/suite.ts";
import { until } from "../lab/wait.ts";

const nicsOf = (...names: string[]) => ({ nics: names.map((name) => ({ name, definition: "blue" })) });
const ownerOf = async (fixture: StoryFixture, claim: string) =>
  (await fixture.claim(claim))?.metadata.annotations?.["holdfast.io/claim-owner"];

onEmbedded("kubevirt/ipam-extensions", (tell) => {
  tell(
    "d1: deleted and made anew while the controller is away: the old claim is finished, the new VM has its own",
    async (fixture) => {
      const old = await fixture.started("vm1");
      const { claim, addresses } = await fixture.look(old);
      await fixture.killLeader();
      await fixture.kubevirt.delete(old);
      await fixture.claimIs("vm1.blue", "being deleted", ({ metadata }) => metadata.deletionTimestamp !== undefined);
      const machine = await fixture.machine("vm1");
      const starting = fixture.kubevirt.start(machine);
      // The pod is there and asks, the claim of its name has an address: it is not given.
      await until(async () => machine.instance !== undefined, { what: "the pod" });
      expect(await fixture.look(machine)).toMatchObject({ state: "FOREIGN", addresses });
      expect(machine.instance!.active.attached.size).toBe(0);
      await fixture.lead();
      expect(await starting).toBe(true);
      const now = await fixture.is(machine, "BOUND");
      expect(now.claim?.metadata.uid).not.toBe(claim?.metadata.uid);
      expect(await ownerOf(fixture, "vm1.blue")).toBe(machine.vmUid);
    },
  );

  tell(
    "x1: names of VMs and networks that read the same joined by dots have claims and addresses of their own",
    async (fixture) => {
      const machines = [
        await fixture.started("a", nicsOf("b_c", "Net", "net", "_")),
        await fixture.started("a.b", nicsOf("c", "b-c")),
        await fixture.started("a.b.c", nicsOf("c", "_")),
      ];
      for (const nic of ["b_c", "Net", "net", "_"]) await fixture.is(machines[0]!, "BOUND", nic);
      const given = machines.flatMap(addressesOf);
      expect(new Set(given).size).toBe(8);
      const { items } = await fixture.admin.list(claims, { namespace: fixture.namespace });
      expect(items).toHaveLength(8);
      for (const machine of machines) {
        expect(await fixture.kubevirt.restart(machine)).toBe(true);
        await fixture.is(machine, "BOUND", machine.name === "a" ? "b_c" : "c");
      }
      expect(machines.flatMap(addressesOf)).toEqual(given);
    },
  );

  tell(
    "x2: two interfaces on one definition have an address each, also where both refer to one claim",
    async (fixture) => {
      const machine = await fixture.machine("vm1", nicsOf("blue", "green"));
      await fixture.is(machine, "PEND", "green");
      // As the webhook of ipam-extensions writes it: the last one wins.
      fixture.at("pod made", async () => {
        await edit(fixture.admin, pods, machine.instance!.active.at, ({ metadata }) => {
          const elements = JSON.parse(metadata.annotations![networksAnnotation]!) as Element[];
          const both = elements.map((each) => ({ ...each, "ipam-claim-reference": "vm1.green" }));
          metadata.annotations![networksAnnotation] = JSON.stringify(both);
        });
      });
      expect(await fixture.kubevirt.start(machine)).toBe(true);
      const sights = [await fixture.is(machine, "BOUND", "blue"), await fixture.is(machine, "BOUND", "green")];
      expect(new Set(sights.map(({ claim }) => claim?.metadata.name))).toEqual(new Set(["vm1.blue", "vm1.green"]));
      expect(new Set(addressesOf(machine)).size).toBe(2);
      expect(sights.map(({ addresses }) => `${addresses[0]}/26`)).toEqual(addressesOf(machine));
    },
  );

  tell("x3: a NIC that is unplugged gives its address back; another VM can have it", async (fixture) => {
    const only = `${fixture.net}.4.10`;
    await fixture.define("tight", { range: `${fixture.net}.4.0/24`, range_start: only, range_end: only });
    const green = { name: "green", definition: "tight" };
    const machine = await fixture.started("vm1", { nics: [{ name: "blue", definition: "blue" }, green] });
    expect((await fixture.is(machine, "BOUND", "green")).addresses).toEqual([only]);
    await unplug(fixture.kubevirt, machine, "green", "in place");
    await fixture.is(machine, "NONE", "green");
    const next = await fixture.started("vm2", { nics: [green] });
    expect(addressesOf(next)).toEqual([`${only}/24`]);
    expect((await fixture.look(machine)).state).toBe("BOUND");
  });

  tell("x4: a VM that goes while the controller is away leaves neither finalizer nor address", async (fixture) => {
    const machines = [await fixture.started("vm1"), await fixture.machine("vm2")];
    await fixture.is(machines[1]!, "PEND");
    await fixture.killLeader();
    for (const machine of machines) await fixture.kubevirt.delete(machine);
    // Nothing will happen to them any more, and there is no event to be had.
    await fixture.lead();
    for (const machine of machines) await fixture.is(machine, "NONE");
  });

  tell("x5: of several claims one is gone already: the others are let go of all the same", async (fixture) => {
    const machine = await fixture.started("vm1", nicsOf("blue", "green", "red"));
    await fixture.is(machine, "BOUND", "red");
    await fixture.killLeader();
    await remove(fixture.admin, claims, { namespace: fixture.namespace, name: "vm1.blue" });
    await edit(fixture.admin, claims, { namespace: fixture.namespace, name: "vm1.blue" }, ({ metadata }) => {
      metadata.finalizers = [];
    });
    expect(await fixture.claim("vm1.blue")).toBeUndefined();
    await fixture.kubevirt.delete(machine);
    await fixture.lead();
    for (const nic of ["blue", "green", "red"]) await fixture.is(machine, "NONE", nic);
  });

  tell(
    "x6: a claim is finished by its owner's UID: what only has the label or the name is left alone",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const spec = { network: `${fixture.namespace}-blue`, interface: "" };
      const { namespace } = fixture;
      for (const name of ["vm1.green", "other"]) {
        const labels = { "kubevirt.io/vm": "vm1" };
        await fixture.admin.create(claims, {
          metadata: { namespace, name, labels, finalizers: ["example.org/mine"] },
          spec,
        });
      }
      await fixture.kubevirt.delete(machine);
      await fixture.is(machine, "NONE");
      for (const name of ["vm1.green", "other"]) {
        const claim = await fixture.claim(name);
        expect(claim?.metadata).toMatchObject({ finalizers: ["example.org/mine"] });
        expect(claim?.metadata.deletionTimestamp).toBeUndefined();
        await edit(fixture.admin, claims, { namespace, name }, ({ metadata }) => void (metadata.finalizers = []));
      }
    },
  );

  tell("x7: a VM that is deleted without its VMI: the claim follows the VMI, and goes with it", async (fixture) => {
    const machine = await fixture.started("vm1");
    const { addresses, claim } = await fixture.look(machine);
    await fixture.kubevirt.delete(machine, "Orphan");
    await fixture.claimIs("vm1.blue", "the VMI's", ({ metadata: { annotations = {}, finalizers = [] } }) => {
      const isOwned = annotations["holdfast.io/claim-owner"] === machine.instance!.uid;
      return isOwned && finalizers.includes("holdfast.io/persistent-ip");
    });
    const migration = await fixture.kubevirt.migrate(machine);
    expect(await migration.handOver()).toBe(true);
    await migration.succeed();
    const sight = await fixture.is(machine, "BOUND");
    expect([sight.addresses, sight.claim?.metadata.uid]).toEqual([addresses, claim?.metadata.uid]);
    await fixture.kubevirt.delete(machine);
    await fixture.is(machine, "NONE");
  });

  tell(
    "x8: definitions cannot be read for a while: nothing is given up, and the claim is made when they can",
    async (fixture) => {
      const kept = await fixture.started("kept");
      await fixture.killLeader();
      fixture.withholds = (path) => path.includes("network-attachment-definitions");
      await fixture.lead();
      const machine = await fixture.machine("vm1");
      const starting = fixture.kubevirt.start(machine);
      await until(async () => machine.instance !== undefined, { what: "the pod" });
      expect((await fixture.look(kept)).state).toBe("BOUND");
      expect((await fixture.look(machine)).state).toBe("NONE");
      expect(machine.instance!.active.attached.size).toBe(0);
      fixture.withholds = undefined;
      expect(await starting).toBe(true);
      await fixture.is(machine, "BOUND");
      await fixture.is(kept, "BOUND");
    },
  );

  tell("x9: one definition is missing: the VM's other NICs have their claims and addresses", async (fixture) => {
    const nics = [
      { name: "blue", definition: "blue" },
      { name: "ghost", definition: "ghost" },
    ];
    const machine = await fixture.machine("vm1", { nics });
    await fixture.is(machine, "PEND");
    const starting = fixture.kubevirt.start(machine);
    await until(async () => fixture.refusals.some((each) => each.includes("ghost")), { what: "the missing one" });
    const { addresses } = await until(
      async () => {
        const sight = await fixture.look(machine);
        return sight.addresses.length > 0 ? sight : undefined;
      },
      { what: "the address of blue" },
    );
    await fixture.define("ghost", { range: `${fixture.net}.6.0/26` });
    expect(await starting).toBe(true);
    await fixture.is(machine, "BOUND", "ghost");
    expect((await fixture.is(machine, "BOUND")).addresses).toEqual(addresses);
  });

  tell("x10: a VM whose name is longer than a label may be has its claim", async (fixture) => {
    const name = `${"long-".repeat(19)}name`;
    const machine = await fixture.started(name);
    const first = addressesOf(machine);
    const { claim } = await fixture.look(machine);
    expect(name.length).toBeGreaterThan(63);
    for (const value of Object.values(claim?.metadata.labels ?? {})) expect(value.length).toBeLessThanOrEqual(63);
    await fixture.kubevirt.stop(machine);
    expect(await fixture.kubevirt.start(machine)).toBe(true);
    await fixture.is(machine, "BOUND");
    expect(addressesOf(machine)).toEqual(first);
  });

  tell(
    "x11: an address that is asked for and lies outside of every range is refused, with the reason on the claim",
    async (fixture) => {
      const annotations = { "network.kubevirt.io/addresses": JSON.stringify({ blue: ["192.0.2.7"] }) };
      const machine = await fixture.machine("vm1", { annotations });
      const starting = fixture.kubevirt.start(machine);
      await until(async () => fixture.refusals.some((each) => each.includes("192.0.2.7")), { what: "the refusal" });
      const claim = await fixture.claimIs("vm1.blue", "told", (each) => conditionOf(each).startsWith("False "));
      expect(JSON.stringify(claim["status"])).toContain("192.0.2.7");
      expect(await fixture.look(machine)).toMatchObject({ state: "PEND", addresses: [] });
      await fixture.kubevirt.delete(machine);
      expect(await starting).toBe(false);
    },
  );

  tell(
    "x12: persistence is taken away from a definition: a VM that has an address keeps it over restarts",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const first = addressesOf(machine);
      await fixture.claimIs("vm1.blue", "shows it", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
      await fixture.redefine("blue", (config) => void (config["allowPersistentIPs"] = false));
      for (let turn = 0; turn < 2; turn++) {
        expect(await fixture.kubevirt.restart(machine)).toBe(true);
        await fixture.is(machine, "BOUND");
        expect(addressesOf(machine)).toEqual(first);
      }
      await fixture.kubevirt.delete(machine);
      await fixture.is(machine, "NONE");
    },
  );
});
