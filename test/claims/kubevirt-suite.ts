// The played KubeVirt against what was observed of the real one, on any API server: stories that other tests rely on.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { isApiError } from "../../src/kube/errors.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Server } from "../node/world.ts";
import { install } from "./kubevirt/crds.ts";
import { find } from "./kubevirt/edit.ts";
import { forget, plug, swap, unplug } from "./kubevirt/hotplug.ts";
import { elementsOfPod } from "./kubevirt/kubelet.ts";
import { Kubevirt } from "./kubevirt/kubevirt.ts";
import type { Launcher, Port } from "./kubevirt/launcher.ts";
import type { Machine, MachineSpec } from "./kubevirt/machine.ts";
import { addNode, losePods } from "./kubevirt/nodes.ts";
import { nodeNameLabel, pods, vmims, vmis, vms } from "./kubevirt/objects.ts";

/** observed: section 2. */
const blue = "pod16477688c0e";
const green = "podba4788b226a";
const namespace = "default";
const nics = [
  { name: "blue", definition: "blue", mac: "02:11:22:33:44:55" },
  { name: "green", definition: "green" },
];

export function kubevirtStories(title: string, start: () => Promise<Server>, startMs?: number): void {
  describe(`KubeVirt, played on the ${title}`, () => {
    let server: Server;
    let client: KubeClient;
    let kubevirt: Kubevirt;
    /** `ADD virt-launcher-... pod16477688c0e`, in the order of the calls. */
    let calls: string[];
    let number = 0;
    beforeAll(async () => {
      server = await start();
      client = new KubeClient({ transport: server.transport });
      await install(client);
      for (const name of ["kv-n1", "kv-n2"]) await addNode(client, name);
    }, startMs);
    afterAll(() => server?.stop());
    beforeEach(() => {
      calls = [];
      let last = 1;
      const note = (command: string, { pod, element }: Port) =>
        void calls.push(`${command} ${pod} ${element.interface}`);
      const cni = {
        add: async (port: Port) => (note("ADD", port), [`10.0.0.${(last += 1)}/24`]),
        del: async (port: Port) => note("DEL", port),
      };
      const place = (_: Machine, without: readonly string[]) => (without.includes("kv-n1") ? "kv-n2" : "kv-n1");
      kubevirt = new Kubevirt({ client, cni, place, pace: async () => {} });
    });
    const fresh = (): MachineSpec => ({ namespace, name: `vm${(number += 1)}`, nics, labels: { tier: "db" } });
    const started = async (spec = fresh()) => {
      const machine = await kubevirt.create(spec);
      expect(await kubevirt.start(machine)).toBe(true);
      return machine;
    };
    const podOf = ({ at }: Launcher) => client.get(pods, at);
    const active = ({ instance }: Machine): Launcher => instance!.active;
    const moved = async (machine: Machine) => {
      const migration = await kubevirt.migrate(machine);
      expect(await migration.handOver()).toBe(true);
      await migration.succeed();
      return migration;
    };

    it("section 1: the objects of one VM", async () => {
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
      const machine = await started({ ...fresh(), scheme: "ordinal" });
      expect(elementsOfPod(await podOf(active(machine))).map((each) => each.interface)).toEqual(["net1", "net2"]);
      await moved(machine);
      expect(elementsOfPod(await podOf(active(machine))).map((each) => each.interface)).toEqual([blue, green]);
    });

    it("section 3: stopped, pod and VMI are gone and the VM is not; started, both are new", async () => {
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

    it("section 4: the target's label names the source's node; the source stays Succeeded; the VMI is the same", async () => {
      const machine = await started();
      const source = active(machine);
      const migration = await kubevirt.migrate(machine);
      const target = await podOf(migration.target);
      expect(target.metadata.labels?.[nodeNameLabel]).toBe("kv-n1");
      expect(target.spec?.nodeName).toBe("kv-n2");
      const { uid } = machine.instance!;
      await migration.handOver();
      expect((await podOf(source)).status?.phase).toBe("Running");
      await migration.succeed();
      expect((await podOf(source)).status?.phase).toBe("Succeeded");
      expect((await client.get(vmis, machine.at)).status?.nodeName).toBe("kv-n2");
      expect((await client.get(vmis, machine.at)).metadata.uid).toBe(uid);
      expect((await podOf(migration.target)).metadata.labels?.[nodeNameLabel]).toBe("kv-n2");
    });

    it("section 4: of six finished migrations five are kept, each with its dead pod", async () => {
      const machine = await started();
      const first = active(machine);
      const names: string[] = [];
      for (let round = 0; round < 6; round++) names.push((await moved(machine)).name);
      expect(await find(client, pods, first.at)).toBeUndefined();
      expect(await find(client, vmims, { namespace, name: names[0]! })).toBeUndefined();
      expect(machine.instance?.launchers.filter(({ phase }) => phase === "Succeeded")).toHaveLength(5);
      await kubevirt.stop(machine);
      expect(await find(client, vmims, { namespace, name: names[5]! })).toBeUndefined();
    });

    it.each(["exits", "is deleted", "is forced"] as const)(
      "section 5: the target %s, and the source goes on",
      async (how) => {
        const machine = await started();
        const source = active(machine);
        const migration = await kubevirt.migrate(machine);
        await migration.handOver();
        await migration.fail(how);
        expect(active(machine)).toBe(source);
        expect((await podOf(source)).status?.phase).toBe("Running");
        expect(await find(client, pods, migration.target.at).then((pod) => pod?.status?.phase)).toBe(
          how === "exits" ? "Failed" : undefined,
        );
      },
    );

    it("section 5: aborted after the hand-over the target's object stays, before it it goes; the migration goes", async () => {
      const machine = await started();
      const late = await kubevirt.migrate(machine);
      await late.handOver();
      await late.abort();
      expect((await podOf(late.target)).status?.phase).toBe("Succeeded");
      const early = await kubevirt.migrate(machine);
      await early.abort();
      expect(await find(client, pods, early.target.at)).toBeUndefined();
      expect(await find(client, vmims, { namespace, name: early.name })).toBeUndefined();
    });

    it.each(["in place", "by migration"] as const)("section 6: plug and unplug %s", async (way) => {
      const machine = await started();
      const plugging = await plug(kubevirt, machine, { name: "red", definition: "red" }, way);
      await plugging?.handOver();
      await plugging?.succeed();
      expect([...active(machine).attached.keys()]).toEqual([blue, green, "podb1f51a511f1"]);
      const unplugging = await unplug(kubevirt, machine, "red", way);
      await unplugging?.handOver();
      await unplugging?.succeed();
      await forget(kubevirt, machine, "red");
      expect([...active(machine).attached.keys()]).toEqual([blue, green]);
      expect((await client.get(vms, machine.at)).spec.template.spec.networks.map(({ name }) => name)).toEqual([
        "default",
        "blue",
        "green",
      ]);
    });

    it("section 6: a swapped definition under the same interface name, the running pod's list untouched", async () => {
      const machine = await started();
      const source = active(machine);
      const migration = await swap(kubevirt, machine, "green", "red");
      expect(elementsOfPod(await podOf(source))[1]?.name).toBe("green");
      expect(elementsOfPod(await podOf(migration!.target))[1]).toEqual({ name: "red", namespace, interface: green });
    });

    it.each(["Background", "Foreground"] as const)("section 7: deleted, %s: nothing is left", async (policy) => {
      const machine = await started();
      const pod = active(machine);
      await kubevirt.delete(machine, policy);
      expect(await find(client, pods, pod.at)).toBeUndefined();
      expect(await find(client, vmis, machine.at)).toBeUndefined();
      expect(await find(client, vms, machine.at)).toBeUndefined();
    });

    it("section 7: orphaned, the VMI runs on; a VM of the same name adopts it", async () => {
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
      const machine = await started();
      const old = active(machine);
      expect(await kubevirt.forcePod(machine)).toBe(true);
      const replaced = active(machine);
      expect(replaced.node).toBe(old.node);
      expect(calls.indexOf(`ADD ${replaced.name} ${blue}`)).toBeLessThan(calls.indexOf(`DEL ${old.name} ${blue}`));
    });

    it("section 7: a crash makes a new VMI, after the old pod's object is gone", async () => {
      const machine = await started();
      const old = active(machine);
      expect(await kubevirt.crash(machine)).toBe(true);
      expect(calls.indexOf(`DEL ${old.name} ${blue}`)).toBeLessThan(
        calls.indexOf(`ADD ${active(machine).name} ${blue}`),
      );
    });

    it("section 7: a VMI without a VM stays with its pod after power-off, and goes when it is deleted", async () => {
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
      const machine = await started();
      const refusal = await kubevirt.create({ namespace, name: machine.name, nics }).catch((error: unknown) => error);
      expect(isApiError(refusal, "already-exists")).toBe(true);
    });

    it("section 8: an eviction is a migration away from the node", async () => {
      const machine = await started();
      const migration = await kubevirt.evict(machine);
      expect((await client.get(vmims, { namespace, name: migration.name })).metadata.annotations).toMatchObject({
        "kubevirt.io/evacuationMigration": "kv-n1",
      });
      await migration.handOver();
      await migration.succeed();
      expect(active(machine).node).toBe("kv-n2");
    });

    it("section 8: no DEL comes from a lost node, and the VM starts elsewhere", async () => {
      const machine = await started();
      const old = active(machine);
      expect(await losePods(kubevirt, machine, "kv-n1")).toBe(true);
      expect(await kubevirt.restart(machine)).toBe(true);
      expect(calls).not.toContain(`DEL ${old.name} ${blue}`);
    });

    it("a start that is called off leaves nothing behind", async () => {
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
  });
}
