// Random lives of VMs: each choice is one small thing that somebody does.
import { claimFinalizer } from "../../../api/claims/claim-marks.ts";
import { ModelCluster, type Sandbox } from "./cluster.ts";
import { add } from "./daemon.ts";
import { gather, kinds, type Snapshot, snapshotOf } from "./gather.ts";
import { acts, lead, type LeaderWays, properWays, settle } from "./leader.ts";
import type { ModelPod, PodNic } from "./objects.ts";
import { Oracle } from "./oracle.ts";
import { type Nics, pendingNode, specOf, Virt } from "./virt.ts";

const names = ["a", "b"] as const;
const shapes: readonly Nics[] = [{ n: "blue" }, { n: "blue", m: "green" }, { n: "green", m: "green" }];
/** Caches are at most this many changes old. */
const snapshotsMax = 12;
/** Until all are settled, after the last event: each of two VMs has a handful of objects. */
const healRoundsMax = 300;

type Task = AsyncGenerator<undefined, unknown>;

export class Simulation {
  readonly cluster = new ModelCluster();
  readonly #ways: LeaderWays;
  readonly #virt = new Virt(this.cluster);
  readonly #oracle = new Oracle(this.cluster);
  #history: Snapshot[] = [snapshotOf(this.cluster)];
  /** What the leader's cache shows: the age of each kind. */
  #ages: readonly number[] = kinds.map(() => 0);
  #leader: Task | undefined;
  /** ADDs that are under way, by pod UID and NIC. */
  readonly #adds = new Map<string, Task>();

  constructor(ways: LeaderWays = properWays) {
    this.#ways = ways;
  }

  get faults(): readonly string[] {
    return this.#oracle.faults;
  }

  async next(choice: number): Promise<void> {
    const what = choice % 256;
    const pick = Math.floor(choice / 256);
    const name = names[pick % names.length]!;
    const rest = Math.floor(pick / names.length);
    if (what < 90) await this.#lead(name, rest);
    else if (what < 135) this.#virt.step(name);
    else if (what < 190) await this.#add(rest);
    else if (what < 215) this.#kubelet(rest);
    else if (what < 237) this.cluster.collect();
    else if (what < 240) this.#leader = undefined;
    else this.#user(what - 240, name, rest);
    this.#after();
  }

  /** Everybody comes back, and does what is left to do. */
  async heal(): Promise<void> {
    for (const node of this.cluster.nodes.keys()) this.cluster.nodes.set(node, "ready");
    this.cluster.gate = { gate: "on", needsLabel: false };
    this.cluster.define("blue");
    this.#leader = undefined;
    this.#adds.clear();
    // A runtime ends what it began, one way or the other.
    for (const pod of this.cluster.pods.objects.values())
      this.cluster.pods.update(pod, (now) => ({ ...now, hasStatus: true }));
    this.#reap();
    for (let round = 0; round < healRoundsMax; round++) {
      if (!(await this.#healRound())) {
        this.#oracle.end();
        return;
      }
      this.#after();
    }
    this.#oracle.faults.push("it does not rest");
  }

  async #healRound(): Promise<boolean> {
    for (const name of names) {
      const steps = await settle(this.cluster, name, (step) => this.#oracle.step(step));
      if (steps.length > 0 || this.#virt.step(name)) return true;
      if (acts(gather(this.cluster, name)).length > 0) this.#oracle.faults.push("settled, and still busy");
    }
    const pods = [...this.cluster.pods.objects.values()];
    return pods.some((pod) => this.#virt.kubelet(pod)) || this.cluster.collect();
  }

  #after(): void {
    this.#forgiveMissed();
    this.#oracle.look();
    this.#history = [snapshotOf(this.cluster), ...this.#history].slice(0, snapshotsMax);
    // Caches do not go back: each is one change older, until it hears of something.
    this.#ages = this.#ages.map((age) => Math.min(age + 1, this.#history.length - 1));
  }

  /** A VM adopted a VMI that ended before any leader saw it: no object ties the VM to the VMI's claims any more. */
  #forgiveMissed(): void {
    for (const { metadata } of this.cluster.claims.objects.values()) {
      const { "holdfast.io/claim-owner": owner = "", "holdfast.io/claim-nic": nic = "" } = metadata.annotations ?? {};
      if (owner.startsWith("vmi-") && this.cluster.vmis.byUid(owner) === undefined) this.#forgive(`${owner}/${nic}`);
    }
  }

  async #lead(name: string, rest: number): Promise<void> {
    if (this.#leader === undefined) {
      this.#ages = this.#ages.map((age, index) => ((rest >> index) % 2 === 0 ? 0 : age));
      this.#leader = lead(this.cluster, name, this.#cached(), (step) => this.#oracle.step(step), this.#ways);
    }
    if ((await this.#leader.next()).done === true) this.#leader = undefined;
  }

  #cached(): Snapshot {
    const entries = kinds.map((kind, index) => [kind, this.#history[this.#ages[index]!]![kind]] as const);
    return Object.fromEntries(entries) as unknown as Snapshot;
  }

  async #add(rest: number): Promise<void> {
    const open = [...this.cluster.pods.objects.values()].flatMap((pod) => this.#missing(pod));
    const found = open[rest % Math.max(open.length, 1)];
    if (found === undefined) return;
    const [pod, nic] = found;
    const key = `${pod.metadata.uid} ${nic.nic}`;
    const task = this.#adds.get(key) ?? add(this.cluster, pod, nic);
    this.#adds.set(key, task);
    if ((await task.next()).done === true) this.#adds.delete(key);
  }

  /** Of pods that a reachable kubelet is starting. */
  #missing(pod: ModelPod): readonly (readonly [ModelPod, PodNic])[] {
    const { metadata, node, isOver, listed, status } = pod;
    if (metadata.deletionTimestamp !== undefined || isOver || this.cluster.nodes.get(node) !== "ready") return [];
    return listed.filter(({ nic }) => !status.some((each) => each.nic === nic)).map((nic) => [pod, nic] as const);
  }

  #kubelet(rest: number): void {
    this.#reap();
    const pods = [...this.cluster.pods.objects.values()];
    const pod = pods[rest % Math.max(pods.length, 1)];
    if (pod === undefined) return;
    const nodes = [...this.cluster.nodes.keys()];
    if (pod.node === pendingNode) this.#virt.bind(pod, nodes[rest % nodes.length]!);
    else this.#virt.kubelet(pod);
  }

  /** The kubelet of a reachable node ends sandboxes whose pod is gone. */
  #reap(): void {
    const runs = ({ podUid, node }: Sandbox): boolean =>
      this.cluster.pods.byUid(podUid) !== undefined || this.cluster.nodes.get(node) !== "ready";
    this.cluster.sandboxes = this.cluster.sandboxes.filter(runs);
  }

  #user(what: number, name: string, rest: number): void {
    const { vms, vmis } = this.cluster;
    const vm = vms.get(name);
    switch (what) {
      case 0:
      case 1:
      case 2:
        this.#virt.createVm(name, shapes[rest % shapes.length]!);
        this.#virt.running.add(name);
        return;
      case 3:
        if (!this.#virt.running.delete(name)) this.#virt.running.add(name);
        return;
      case 4:
        if (vm !== undefined) vms.delete(vm, [undefined, "foregroundDeletion", "orphan"][rest % 3]);
        return;
      case 5:
      case 6:
        this.#migrate(name, rest);
        return;
      case 7:
        if (vm !== undefined) this.#plug(name, rest);
        return;
      case 8:
        this.#deleteClaim(rest);
        return;
      case 9: {
        // Until now its kubelet was there, and has ended what was deleted by force.
        this.#reap();
        const node = [...this.cluster.nodes.keys()][rest % this.cluster.nodes.size]!;
        this.cluster.nodes.set(node, this.cluster.nodes.get(node) === "ready" ? "unreachable" : "ready");
        return;
      }
      case 10: {
        const pod = [...this.cluster.pods.objects.values()][rest % Math.max(this.cluster.pods.objects.size, 1)];
        if (pod !== undefined) this.#virt.forceDelete(pod);
        return;
      }
      case 11:
        if (vm === undefined && !this.#virt.running.has(name))
          this.#virt.createInstance(name, shapes[rest % shapes.length]!);
        return;
      case 12:
        this.#toggle(rest);
        return;
      case 13: {
        const vmi = vmis.get(name);
        if (vmi !== undefined && vm === undefined) vmis.delete(vmi, rest % 2 === 0 ? "foregroundDeletion" : undefined);
      }
    }
  }

  /** The gate, or a definition, goes or comes. Only addresses without a claim just then may be freed. */
  #toggle(rest: number): void {
    const gates = ["on", "off", "unknown"] as const;
    if (rest % 2 === 0) this.cluster.gate = { gate: gates[Math.floor(rest / 2) % gates.length]!, needsLabel: false };
    else if (rest % 4 === 1) this.cluster.define("blue", { isAllowed: Math.floor(rest / 4) % 2 === 0 });
    else this.cluster.definitions.set("t/blue", Math.floor(rest / 4) % 2 === 0 ? "missing" : "unknown");
    const loose = this.cluster.holds().filter(({ owner }) => this.cluster.claims.byUid(owner.uid) === undefined);
    for (const { note } of loose) this.#forgive(note?.identity ?? "");
  }

  #forgive(identity: string): void {
    const [owner = "", nic = ""] = identity.split("/");
    this.#oracle.forgive(this.cluster.guests.get(owner) ?? "", nic);
  }

  #isUsual(): boolean {
    const blue = this.cluster.definitions.get("t/blue");
    return this.cluster.gate.gate === "on" && typeof blue === "object" && blue.isAllowed;
  }

  /** By hand; every other time by force. */
  #deleteClaim(rest: number): void {
    const claim = [...this.cluster.claims.objects.values()][rest % Math.max(this.cluster.claims.objects.size, 1)];
    if (claim === undefined) return;
    this.cluster.claims.delete(claim);
    if (rest % 2 !== 0) return;
    this.cluster.forceFinalizers(claim, claimFinalizer);
    // An ADD that has read the claim takes an address for a gone one: the new claim cannot know of it. And an address
    // whose claim is lost is known by its owner's UID alone: a guest that changes owners meanwhile may lose it. Where
    // no claim is made anew, the address is free with its last pod.
    const { "holdfast.io/claim-owner": owner = "", "holdfast.io/claim-nic": nic = "" } =
      claim.metadata.annotations ?? {};
    const vmi = this.cluster.vmis.get(claim.metadata.name!.split(".")[0]!);
    const isAdopted = vmi?.status?.virtualMachineRevisionName !== `revision-start-vm-${owner}-1`;
    if (this.#adds.size > 0 || isAdopted || !this.#isUsual()) this.#forgive(`${owner}/${nic}`);
  }

  #migrate(name: string, rest: number): void {
    const vmi = this.cluster.vmis.get(name);
    if (vmi === undefined || vmi.metadata.deletionTimestamp !== undefined) return;
    const pods = this.#virt.podsOf(vmi.metadata.uid).filter(({ isOver }) => !isOver);
    if (pods.length < 2) {
      if (pods.length === 1) this.#virt.launch(vmi);
      return;
    }
    const [ends, stays] = rest % 2 === 0 ? [pods[0]!, pods[1]!] : [pods[1]!, pods[0]!];
    if (this.#virt.finish(ends)) this.#virt.move(vmi, stays);
  }

  /** Plug, unplug, swap; or detach in place what is absent. */
  #plug(name: string, rest: number): void {
    const vm = this.cluster.vms.get(name)!;
    const vmi = this.cluster.vmis.get(name);
    const pods = this.#virt.podsOf(vmi?.metadata.uid);
    if (rest % 4 === 0) {
      for (const pod of pods) this.#detach(pod);
      return;
    }
    // A hot-plugged NIC that is unplugged during its ADD: some seconds, which the cooldown covers.
    if (pods.some((pod) => this.#isAdding(pod))) return;
    const shape = shapes[Math.floor(rest / 4) % shapes.length]!;
    const absent = rest % 4 === 1 ? ["n"] : [];
    this.cluster.vms.update(vm, (now) => ({ ...now, spec: { template: { spec: specOf(shape, absent) } } }));
  }

  #isAdding({ metadata, hasStatus }: ModelPod): boolean {
    return hasStatus === true && [...this.#adds.keys()].some((key) => key.startsWith(`${metadata.uid} `));
  }

  /** Multus takes the interface out of the pod that does not list it any more. */
  #detach(pod: ModelPod): void {
    if (this.cluster.nodes.get(pod.node) !== "ready") return;
    const has = (nic: string): boolean => pod.listed.some((each) => each.nic === nic);
    this.cluster.sandboxes = this.cluster.sandboxes.filter(
      ({ podUid, nic }) => podUid !== pod.metadata.uid || has(nic),
    );
    this.cluster.pods.update(pod, (now) => ({ ...now, status: now.status.filter(({ nic }) => has(nic)) }));
  }
}
