// How VMs begin and end, against what was observed of the real KubeVirt.
import { expect, it } from "vitest";

import { isApiError } from "../../src/kube/errors.ts";
import { blue, type GetFixture, green, namespace, nics } from "./kubevirt-fixture.ts";
import { find } from "./kubevirt/edit.ts";
import { elementsOfPod } from "./kubevirt/kubelet.ts";
import { Kubevirt, nicsOf } from "./kubevirt/kubevirt.ts";
import type { Port } from "./kubevirt/launcher.ts";
import { nodeNameLabel, pods, vmis, vms } from "./kubevirt/objects.ts";

export function lifeStories(get: GetFixture): void {
  it("section 1: the objects of one VM", async () => {
    const { client, started, podOf, active } = get();
    const machine = await started();
    const vm = await client.get(vms, machine.at);
    expect(vm.metadata.finalizers).toEqual(["kubevirt.io/virtualMachineControllerFinalize"]);
    const vmi = await client.get(vmis, machine.at);
    expect(vmi.metadata.finalizers).toEqual([
      "kubevirt.io/virtualMachineControllerFinalize",
      "kubevirt.io/foregroundDeleteVirtualMachine",
    ]);
    expect(vmi.metadata.ownerReferences).toMatchObject([
      { kind: "VirtualMachine", uid: machine.vmUid, controller: true },
    ]);
    expect(vmi.status).toMatchObject({ phase: "Running", nodeName: "kv-n1" });
    expect(vmi.status?.interfaces?.map((each) => each.podInterfaceName)).toEqual([blue, green]);
    const pod = await podOf(active(machine));
    expect(pod.metadata.name).toMatch(`virt-launcher-${machine.name}-`);
    expect(pod.metadata.finalizers).toBeUndefined();
    expect(pod.metadata.ownerReferences).toMatchObject([
      { kind: "VirtualMachineInstance", uid: machine.instance?.uid },
    ]);
    expect(pod.metadata.labels).toMatchObject({
      tier: "db",
      "kubevirt.io": "virt-launcher",
      [nodeNameLabel]: "kv-n1",
    });
    expect(elementsOfPod(pod)).toEqual([
      { name: "blue", namespace, mac: "02:11:22:33:44:55", interface: blue },
      { name: "green", namespace, interface: green },
    ]);
    expect(pod.status?.phase).toBe("Running");
  });

  it("section 2: ordinal names until a migration", async () => {
    const { fresh, started, podOf, active, moved } = get();
    const machine = await started({ ...fresh(), scheme: "ordinal" });
    expect(elementsOfPod(await podOf(active(machine))).map((each) => each.interface)).toEqual(["net1", "net2"]);
    await moved(machine);
    expect(elementsOfPod(await podOf(active(machine))).map((each) => each.interface)).toEqual([blue, green]);
  });

  it("section 1: what labels and status say of the VM's name: its hostname, what fits of it, and the revision that runs", async () => {
    const { client, fresh, started, podOf, active } = get();
    const { name } = fresh();
    const dotted = await started({ ...fresh(), name: `${name}.b` });
    expect((await podOf(active(dotted))).metadata.labels).toMatchObject({
      "vm.kubevirt.io/name": name,
      "vmi.kubevirt.io/id": `${name}.b`,
    });
    const long = await started({ ...fresh(), name: `${name}-${"x".repeat(60)}` });
    const { labels = {} } = (await podOf(active(long))).metadata;
    expect(labels["vmi.kubevirt.io/id"]).toMatch(new RegExp(`^${name}-x+-[0-9a-f]{8}$`));
    expect(labels["vmi.kubevirt.io/id"]).toHaveLength(63);
    const { status } = await client.get(vmis, dotted.at);
    expect(status?.virtualMachineRevisionName).toMatch(new RegExp(`^revision-start-vm-${dotted.vmUid}-\\d+$`));
  });

  it("section 3: stopped, pod and VMI are gone and the VM is not; started, both are new", async () => {
    const { client, kubevirt, started, active } = get();
    const machine = await started();
    const before = { vmi: machine.instance?.uid, pod: active(machine) };
    await kubevirt.stop(machine);
    expect(await find(client, pods, before.pod.at)).toBeUndefined();
    expect(await find(client, vmis, machine.at)).toBeUndefined();
    expect((await client.get(vms, machine.at)).spec.runStrategy).toBe("Halted");
    expect(await kubevirt.start(machine)).toBe(true);
    expect(machine.instance?.uid).not.toBe(before.vmi);
    expect(active(machine).name).not.toBe(before.pod.name);
  });

  it.each(["Background", "Foreground"] as const)("section 7: deleted, %s: nothing is left", async (policy) => {
    const { client, kubevirt, started, active } = get();
    const machine = await started();
    const pod = active(machine);
    await kubevirt.delete(machine, policy);
    expect(await find(client, pods, pod.at)).toBeUndefined();
    expect(await find(client, vmis, machine.at)).toBeUndefined();
    expect(await find(client, vms, machine.at)).toBeUndefined();
  });

  it("section 7: orphaned, the VMI runs on; a VM of the same name adopts it", async () => {
    const { client, kubevirt, fresh, started, podOf, active } = get();
    const spec = fresh();
    const machine = await started(spec);
    const { uid } = machine.instance!;
    await kubevirt.delete(machine, "Orphan");
    const left = await client.get(vmis, machine.at);
    expect(left.metadata.uid).toBe(uid);
    expect(left.metadata.ownerReferences ?? []).toEqual([]);
    expect((await podOf(active(machine))).status?.phase).toBe("Running");
    await kubevirt.create(spec, machine);
    expect((await client.get(vmis, machine.at)).metadata).toMatchObject({
      uid,
      ownerReferences: [{ uid: machine.vmUid }],
    });
  });

  it("section 7: a forced delete: the new sandbox is attached before the old one is torn down", async () => {
    const { kubevirt, calls, started, active } = get();
    const machine = await started();
    const old = active(machine);
    expect(await kubevirt.forcePod(machine)).toBe(true);
    const replaced = active(machine);
    expect(replaced.node).toBe(old.node);
    expect(calls.indexOf(`ADD ${replaced.name} ${blue}`)).toBeLessThan(calls.indexOf(`DEL ${old.name} ${blue}`));
  });

  it("section 7: a crash makes a new VMI, after the old pod's object is gone", async () => {
    const { kubevirt, calls, started, active } = get();
    const machine = await started();
    const old = active(machine);
    expect(await kubevirt.crash(machine)).toBe(true);
    expect(calls.indexOf(`DEL ${old.name} ${blue}`)).toBeLessThan(calls.indexOf(`ADD ${active(machine).name} ${blue}`));
  });

  it("section 7: a VMI without a VM stays with its pod after power-off, and goes when it is deleted", async () => {
    const { client, kubevirt, fresh, podOf, active } = get();
    const machine = await kubevirt.createAlone(fresh());
    expect((await client.get(vmis, machine.at)).metadata.finalizers).toEqual([
      "kubevirt.io/foregroundDeleteVirtualMachine",
    ]);
    await kubevirt.powerOff(machine);
    expect((await podOf(active(machine))).status?.phase).toBe("Succeeded");
    await kubevirt.delete(machine);
    expect(await find(client, vmis, machine.at)).toBeUndefined();
  });

  it("section 7: a VM of the same name is refused while the old one is there", async () => {
    const { kubevirt, started } = get();
    const machine = await started();
    const refusal = await kubevirt.create({ namespace, name: machine.name, nics }).catch((error: unknown) => error);
    expect(isApiError(refusal, "already-exists")).toBe(true);
  });

  it("a start that is called off leaves nothing behind", async () => {
    const { client, fresh } = get();
    const waiting = Promise.withResolvers<void>();
    const cni = {
      add: (_: Port, signal: AbortSignal) => {
        const { promise, reject } = Promise.withResolvers<string[]>();
        signal.addEventListener("abort", () => reject(new Error("ended")));
        waiting.resolve();
        return promise;
      },
      del: async () => {},
    };
    const patient = new Kubevirt({ client, cni, place: () => "kv-n1", pace: async () => {} });
    const machine = await patient.create(fresh());
    const starting = patient.start(machine);
    await waiting.promise;
    await patient.delete(machine);
    expect(await starting).toBe(false);
    expect(await find(client, vms, machine.at)).toBeUndefined();
  });

  it("section 8: a plain delete of the pod ends the guest, and the VM starts anew", async () => {
    const { client, kubevirt, started, active } = get();
    const machine = await started();
    const old = active(machine);
    expect(await kubevirt.deletePod(machine)).toBe(true);
    expect(await find(client, pods, old.at)).toBeUndefined();
    expect(active(machine).vmiUid).not.toBe(old.vmiUid);
  });

  it("a snapshot that is put back keeps the VM; a clone is another, without the MACs; a pool is several", async () => {
    const { client, kubevirt, started, fresh } = get();
    const machine = await started();
    const { vmUid } = machine;
    await kubevirt.stop(machine);
    await kubevirt.restore(machine, nics.slice(0, 1));
    expect(await kubevirt.start(machine)).toBe(true);
    const restored = await client.get(vms, machine.at);
    expect(restored.metadata.uid).toBe(vmUid);
    expect(nicsOf(restored.spec.template.spec)).toEqual(nics.slice(0, 1));
    const clone = await kubevirt.clone(machine, `${machine.name}-clone`);
    expect(clone.vmUid).not.toBe(vmUid);
    expect(nicsOf((await client.get(vms, clone.at)).spec.template.spec)).toEqual([
      { name: "blue", definition: "blue" },
    ]);
    const spec = fresh();
    const pool = await kubevirt.pool(spec, 3);
    expect(pool.map(({ name }) => name)).toEqual([0, 1, 2].map((index) => `${spec.name}-${index}`));
  });
}
