// The gaps of OVN-Kubernetes with claims (g1 to g9 of docs/complaints.md), each shown not to be here, on a cluster of a
// real leader, real daemons and a played KubeVirt.
import { expect } from "vitest";

import { claims } from "../claims/claim-objects.ts";
import { edit, remove } from "../claims/kubevirt/edit.ts";
import { bare, drain, on } from "../claims/stories/draining.ts";
import { addressesOf, conditionOf } from "../claims/stories/sight.ts";
import { onEmbedded } from "../claims/stories/suite.ts";
import { userPod } from "../claims/stories/user-pod.ts";
import { until } from "../lab/wait.ts";

onEmbedded("OVN-Kubernetes' gaps", (tell) => {
  tell("g1: ownerPod names the pod that has the address, after a restart and after a migration", async (fixture) => {
    const machine = await fixture.started("vm1");
    const isNamed = async () => {
      const { name } = machine.instance!.active;
      await fixture.claimIs("vm1.blue", `names ${name}`, ({ status }) => {
        const { ownerPod } = (status ?? {}) as { ownerPod?: { name: string } };
        return ownerPod?.name === name;
      });
    };
    await isNamed();
    expect(await fixture.kubevirt.restart(machine)).toBe(true);
    await isNamed();
    const migration = await fixture.kubevirt.migrate(machine);
    await migration.handOver();
    await migration.succeed();
    await isNamed();
    await fixture.kubevirt.stop(machine);
    const isNobody = (claim: Record<string, unknown>) =>
      (claim["status"] as { ownerPod?: object }).ownerPod === undefined;
    await fixture.claimIs("vm1.blue", "names nobody", isNobody);
  });

  tell("g2: the definition is in another namespace: the claim is in the VM's, and is found", async (fixture) => {
    await fixture.define(`${fixture.elsewhere}/shared`, { range: `${fixture.net}.7.0/26` });
    const machine = await fixture.started("vm1", on(`${fixture.elsewhere}/shared`));
    const first = addressesOf(machine);
    const { claim } = await fixture.look(machine);
    expect(claim?.metadata.namespace).toBe(fixture.namespace);
    expect(claim?.["spec"]).toMatchObject({ network: `${fixture.elsewhere}-shared` });
    expect(await fixture.kubevirt.restart(machine)).toBe(true);
    await fixture.is(machine, "BOUND");
    expect(addressesOf(machine)).toEqual(first);
  });

  tell("g3: a claim is deleted and forced away under a pod: its address is not free", async (fixture) => {
    await fixture.define("tight", { range: `${fixture.net}.4.0/29` });
    const machine = await fixture.started("vm1", on("tight"));
    const { addresses, claim } = await fixture.look(machine);
    const at = { namespace: fixture.namespace, name: "vm1.blue" };
    await fixture.killLeader();
    await remove(fixture.admin, claims, at);
    await edit(fixture.admin, claims, at, ({ metadata }) => void (metadata.finalizers = []));
    expect(await fixture.claim("vm1.blue")).toBeUndefined();
    await fixture.lead();
    expect(await drain(fixture, "tight")).not.toContain(addresses[0]);
    const again = await fixture.is(machine, "BOUND");
    expect(again.addresses).toEqual(addresses);
    expect(again.claim?.metadata.uid).not.toBe(claim?.metadata.uid);
  });

  tell(
    "g4: claims that make no sense keep nobody from starting: neither leader, nor daemons, nor VMs",
    async (fixture) => {
      const machine = await fixture.started("vm1");
      const first = addressesOf(machine);
      const { namespace } = fixture;
      const bad: Record<string, { network: string; ips: string[]; annotations?: Record<string, string> }> = {
        stray: { network: `${namespace}-blue`, ips: ["192.0.2.7/24"] },
        nonsense: { network: `${namespace}-blue`, ips: ["no address", "", "10.9.1.300/26"] },
        unknown: { network: "no such network", ips: ["10.9.1.9/26"] },
        nobody: { network: `${namespace}-blue`, ips: [], annotations: { "holdfast.io/claim-owner": "" } },
      };
      for (const [name, { network, ips, annotations = {} }] of Object.entries(bad)) {
        await fixture.admin.create(claims, {
          metadata: { namespace, name, annotations },
          spec: { network, interface: "" },
        });
        const patch = { type: "merge", body: { status: { ips } } } as const;
        await fixture.admin.patch(claims, { namespace, name }, patch, { subresource: "status" });
      }
      await fixture.killLeader();
      for (const node of fixture.nodes.all) {
        await fixture.nodes.kill(node);
        await fixture.nodes.revive(node);
      }
      await fixture.lead();
      await fixture.started("vm2");
      expect(await fixture.kubevirt.restart(machine)).toBe(true);
      await fixture.is(machine, "BOUND");
      expect(addressesOf(machine)).toEqual(first);
      for (const name of Object.keys(bad)) await remove(fixture.admin, claims, { namespace, name });
    },
  );

  tell(
    "g5: a pod that came before its claim is answered when the claim is made, by the ADD that waits",
    async (fixture) => {
      await fixture.killLeader();
      const machine = await fixture.machine("vm1");
      const starting = fixture.kubevirt.start(machine);
      await until(async () => machine.instance !== undefined, { what: "the pod" });
      expect((await fixture.look(machine)).state).toBe("NONE");
      await fixture.lead();
      expect(await starting).toBe(true);
      await fixture.is(machine, "BOUND");
      expect(fixture.refusals).toEqual([]);
    },
  );

  tell("g6: layer3 with persistence is refused with the reason, and no claim is made", async (fixture) => {
    await fixture.define("three", {}, { type: "ovs", topology: "layer3", subnets: `${fixture.net}.8.0/24` });
    const machine = await fixture.machine("vm1", on("three"));
    const beside = await fixture.machine("vm2");
    await fixture.is(beside, "PEND");
    const starting = fixture.kubevirt.start(machine);
    await until(async () => fixture.refusals.some((each) => /^7 .*layer3/.test(each)), { what: "the reason" });
    expect((await fixture.look(machine)).state).toBe("NONE");
    await fixture.kubevirt.delete(machine);
    expect(await starting).toBe(false);
  });

  tell(
    "g7: a definition without persistence: a claim's address is kept to; else the pod's own goes with it",
    async (fixture) => {
      fixture.forgives("held while used");
      const spec = { network: `${fixture.namespace}-blue`, interface: "" };
      const { namespace } = fixture;
      const { kubelet } = fixture.kubevirt.virt;
      for (const name of ["with", "without"])
        await fixture.admin.create(claims, { metadata: { namespace, name }, spec });
      const first = await userPod(fixture, { "ipam-claim-reference": "with" });
      await kubelet.run(first);
      const given = bare([...first.attached.values()][0]!.addresses);
      await fixture.claimIs("with", "shown", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
      await kubelet.finish(first);
      await fixture.redefine("blue", (config) => void (config["allowPersistentIPs"] = false));

      const second = await userPod(fixture, { "ipam-claim-reference": "with" });
      await kubelet.run(second);
      expect(bare([...second.attached.values()][0]!.addresses)).toEqual(given);
      const third = await userPod(fixture, { "ipam-claim-reference": "without" });
      await kubelet.run(third);
      const [own = ""] = bare([...third.attached.values()][0]!.addresses);
      expect(given).not.toContain(own);
      expect((await fixture.claim("without"))?.["status"]).toBeUndefined();
      await kubelet.finish(third);
      await until(async () => !(await fixture.held(own)), { what: "the pod's own address to be free" });
      await kubelet.finish(second);
      expect(await fixture.held(given[0]!)).toBe(true);
    },
  );

  tell("g8: the MAC of a VM that is stopped is still its own: another VM with it is refused", async (fixture) => {
    const nics = [{ name: "blue", definition: "blue", mac: "02:00:00:00:00:07" }];
    const machine = await fixture.started("vm1", { nics });
    await fixture.kubevirt.stop(machine);
    await fixture.is(machine, "RSVD");
    const rival = await fixture.machine("vm2", { nics: [{ ...nics[0]!, mac: "02-00-00-00-00-07" }] });
    const starting = fixture.kubevirt.start(rival);
    await fixture.claimIs("vm2.blue", "refused", (claim) => conditionOf(claim) === "False MACAddressConflict");
    await until(async () => fixture.refusals.some((each) => each.includes("vm1.blue")), { what: "the refusal" });
    expect(await fixture.look(rival)).toMatchObject({ state: "PEND", addresses: [] });
    expect(await fixture.kubevirt.start(machine)).toBe(true);
    await fixture.is(machine, "BOUND");
    await fixture.kubevirt.delete(machine);
    expect(await starting).toBe(true);
    await fixture.is(rival, "BOUND");
  });

  tell(
    "g9: one family has nothing left: no pod is given half of its addresses, and it gets both when there is room",
    async (fixture) => {
      const only = "fd00:9::10:1";
      const ipRanges = [
        { range: `${fixture.net}.6.0/26` },
        { range: "fd00:9::10:0/112", range_start: only, range_end: only },
      ];
      await fixture.define("both", { ipRanges });
      const first = await fixture.started("vm1", on("both"));
      const second = await fixture.machine("vm2", on("both"));
      const starting = fixture.kubevirt.start(second);
      const isFull = (claim: Parameters<typeof conditionOf>[0]) => /^\w+ SubnetExhausted$/.test(conditionOf(claim));
      await fixture.claimIs("vm2.blue", "without room", isFull);
      expect(second.instance!.active.attached.size).toBe(0);
      await fixture.kubevirt.delete(first);
      expect(await starting).toBe(true);
      expect((await fixture.is(second, "BOUND")).addresses).toHaveLength(2);
      expect(bare(addressesOf(second))).toContain(only);
    },
  );
});
