// Live migration: two launchers of one VMI, and one of them left.
import { dropFinalizer, edit, remove } from "./edit.ts";
import type { Launcher } from "./launcher.ts";
import type { Instance, Machine } from "./machine.ts";
import type { Scheme } from "./names.ts";
import {
  migrationFinalizer,
  nodeNameLabel,
  pods,
  targetNodeLabel,
  type Vmi,
  type Vmim,
  vmims,
  vmis,
} from "./objects.ts";
import { labelNode, makeLauncher, reported, type Virt } from "./virt.ts";

/** observed: section 4. Finished migrations that are kept, with their dead pods. */
const keptMigrations = 5;

export interface MigrationOptions {
  readonly name?: string;
  /** observed: section 8: kubevirt-evacuation-xxxxx with the node that is left. */
  readonly evacuates?: string;
  /** observed: section 6: kubevirt-workload-update-xxxxx. */
  readonly isWorkloadUpdate?: boolean;
  /** Where the target is to run; default: the scheduler's choice. */
  readonly node?: string;
  /** observed: section 2: hashed, whatever the source has, unless a gate is off. */
  readonly scheme?: Scheme;
}

export class Migration {
  readonly machine: Machine;
  readonly target: Launcher;
  readonly name: string;
  readonly uid: string;
  readonly #virt: Virt;
  readonly #instance: Instance;

  private constructor(virt: Virt, machine: Machine, instance: Instance, target: Launcher, { metadata }: Vmim) {
    this.#virt = virt;
    this.machine = machine;
    this.#instance = instance;
    this.target = target;
    this.name = metadata.name ?? "";
    this.uid = metadata.uid ?? "";
  }

  /** observed: section 4. Pending, Scheduling: the target pod is bound, labelled with the source's node, not run. */
  static async begin(virt: Virt, machine: Machine, options: MigrationOptions = {}): Promise<Migration> {
    const instance = running(machine);
    const vmim = await virt.client.create(vmims, migrationObject(machine, options));
    const { name = "", uid = "" } = vmim.metadata;
    await virt.pace("migration made");
    const vmi = await virt.client.get(vmis, machine.at);
    const source = instance.active;
    const migration = { name, uid, sourceNode: source.node };
    const target = await makeLauncher(virt, machine, vmi, { scheme: options.scheme ?? "hashed", migration });
    const made = new Migration(virt, machine, instance, target, vmim);
    instance.launchers.push(target);
    instance.target = target;
    await virt.kubelet.bind(target, options.node ?? virt.place(machine, [source.node]));
    await made.#phase("Scheduling");
    return made;
  }

  /** observed: section 4. Both run: handed over to virt-handler. False: the target was told to end before it ran. */
  async handOver(): Promise<boolean> {
    const { machine, target } = this;
    if (!(await this.#virt.kubelet.run(target))) return false;
    await this.#virt.pace("target runs");
    const source = this.#instance.active;
    await this.#onVmi((vmi) => {
      vmi.metadata.labels = { ...vmi.metadata.labels, [targetNodeLabel]: target.node };
      const activePods = Object.fromEntries(this.#instance.launchers.map(({ uid, node }) => [uid, node]));
      const migrationState = {
        migrationUid: this.uid,
        sourceNode: source.node,
        sourcePod: source.name,
        targetNode: target.node,
        targetPod: target.name,
      };
      vmi.status = { ...vmi.status, activePods, migrationState };
    });
    await this.#phase("Running");
    return machine.instance === this.#instance && !target.ending.signal.aborted;
  }

  /** observed: section 4. The guest moves; the source ends, and its object stays. */
  async succeed(): Promise<void> {
    const { kubelet, pace } = this.#virt;
    const source = this.#instance.active;
    const { target } = this;
    await this.#onPod(target, "kubevirt.io/migration-target-ready-timestamp", "2026-11-15 04:34:18 +0000 UTC");
    await pace("target ready");
    await this.#onVmi((vmi) => {
      vmi.metadata.labels = { ...vmi.metadata.labels, [nodeNameLabel]: target.node };
      vmi.status = { ...vmi.status, nodeName: target.node, interfaces: reported(vmi, target) };
    });
    this.#instance.active = target;
    await labelNode(this.#virt, target, target.node);
    await pace("guest moved");
    await kubelet.exit(source, "Succeeded");
    await this.#close("Succeeded", { completed: true });
    await this.#keep(source);
  }

  /** observed: section 5. The target pod goes while it runs: VMIM Failed; VMI, node and source are untouched. */
  async fail(how: "exits" | "is deleted" | "is forced" = "exits"): Promise<void> {
    const { client, kubelet } = this.#virt;
    if (how === "exits") await kubelet.exit(this.target, "Failed");
    if (how === "is forced") await kubelet.vanish(this.target);
    if (how === "is deleted") {
      await remove(client, pods, this.target.at, { uid: this.target.uid, gracePeriodSeconds: 60 });
      await this.#virt.pace("target deleting");
      await kubelet.finish(this.target);
    }
    await this.#close("Failed", { completed: true, failed: true, failureReason: "Target pod is down" });
    if (how === "is forced") await kubelet.bury(this.target);
    await this.#keep(this.target);
  }

  /**
   * observed: section 5. Deleting the VMIM. Before the hand-over virt-controller deletes the target; after it the
   * target's launcher is told to exit, and its object stays until the VMI goes, beyond the rule of the five newest.
   */
  async abort(): Promise<void> {
    const { client, kubelet } = this.#virt;
    const isHandedOver = this.target.phase === "Running";
    await remove(client, vmims, this.#at);
    await this.#virt.pace("abort asked");
    if (isHandedOver) await kubelet.exit(this.target, "Succeeded");
    else await kubelet.finish(this.target);
    await this.#close(
      "Failed",
      isHandedOver ? { abortRequested: true, abortStatus: "Succeeded", failed: true } : undefined,
    );
  }

  /** observed: section 5. The VM or VMI was deleted meanwhile: its pods are gone; the VMIM goes right after the VMI. */
  async orphaned(): Promise<void> {
    await this.#phase("Failed");
    await dropFinalizer(this.#virt.client, vmims, this.#at, migrationFinalizer);
    await remove(this.#virt.client, vmims, this.#at);
  }

  get #at(): { readonly namespace: string; readonly name: string } {
    return { namespace: this.machine.namespace, name: this.name };
  }

  async #close(phase: "Succeeded" | "Failed", state: Record<string, unknown> | undefined): Promise<void> {
    delete this.#instance.target;
    await this.#onVmi((vmi) => {
      delete vmi.metadata.labels?.[targetNodeLabel];
      if (state !== undefined)
        vmi.status = { ...vmi.status, migrationState: { ...vmi.status?.migrationState, ...state } };
    });
    await this.#phase(phase);
    await dropFinalizer(this.#virt.client, vmims, this.#at, migrationFinalizer);
  }

  /** observed: section 4. At the sixth, the oldest goes, and with it the pod that it left. */
  async #keep(pod: Launcher): Promise<void> {
    const { client } = this.#virt;
    this.#instance.finished.push({ name: this.name, pod });
    if (this.#instance.finished.length <= keptMigrations) return;
    const oldest = this.#instance.finished.shift();
    if (oldest === undefined) return;
    await remove(client, pods, oldest.pod.at, { uid: oldest.pod.uid, gracePeriodSeconds: 0 });
    oldest.pod.phase = "Gone";
    await remove(client, vmims, { namespace: this.machine.namespace, name: oldest.name });
    this.#instance.launchers = this.#instance.launchers.filter((each) => each !== oldest.pod);
  }

  async #phase(phase: string): Promise<void> {
    await edit(this.#virt.client, vmims, this.#at, (vmim) => void (vmim.status = { ...vmim.status, phase }), "status");
  }

  async #onVmi(change: (vmi: Vmi) => void): Promise<void> {
    await edit(this.#virt.client, vmis, this.machine.at, (vmi) => {
      if (vmi.metadata.uid !== this.#instance.uid) return false;
      change(vmi);
      return true;
    });
  }

  async #onPod({ at, uid }: Launcher, annotation: string, value: string): Promise<void> {
    await edit(this.#virt.client, pods, at, ({ metadata }) => {
      if (metadata.uid !== uid) return false;
      metadata.annotations = { ...metadata.annotations, [annotation]: value };
      return true;
    });
  }
}

function running({ instance, name }: Machine): Instance {
  if (instance === undefined) throw new Error(`${name} does not run: it cannot be migrated.`);
  return instance;
}

function migrationObject({ namespace, name: vmiName }: Machine, options: MigrationOptions): Vmim {
  const { name, evacuates, isWorkloadUpdate = false } = options;
  const prefix = isWorkloadUpdate ? "kubevirt-workload-update-" : "kubevirt-evacuation-";
  const isOwn = evacuates === undefined && !isWorkloadUpdate;
  return {
    metadata: {
      namespace,
      ...(name !== undefined ? { name } : { generateName: isOwn ? `${vmiName}-` : prefix }),
      labels: { "kubevirt.io/vmi-name": vmiName.slice(0, 63) },
      annotations: {
        ...(evacuates !== undefined && { "kubevirt.io/evacuationMigration": evacuates }),
        ...(isWorkloadUpdate && { "kubevirt.io/workloadUpdateMigration": "" }),
      },
      finalizers: [migrationFinalizer],
    },
    spec: { vmiName },
  };
}
