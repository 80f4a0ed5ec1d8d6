// A story on a model cluster: things happen, and everybody does their part until all is settled.
import {
  claimFinalizer,
  claimName,
  claimNicAnnotation,
  claimOwnerAnnotation,
  claimVmAnnotation,
  ownershipOf,
  persistenceLabelName,
} from "../../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import { parseAddress } from "../../../net/address.ts";
import { attachedPods, looseTarget } from "../attachment.ts";
import type { FamilyFacts } from "../facts.ts";
import { familyOf } from "../family.ts";
import { planFamily } from "../plan.ts";
import { type ClaimState, isOnItsNetwork, stateOfClaim } from "../state.ts";
import type { ClaimStep } from "../steps.ts";
import { ModelCluster, namespace } from "./cluster.ts";
import { add } from "./daemon.ts";
import { gather } from "./gather.ts";
import { acts, settle } from "./leader.ts";
import type { ModelPod, ModelVmi } from "./objects.ts";
import { type Nics, pendingNode, specOf, Virt } from "./virt.ts";

/** The longest story has three VMs and a migration; more rounds are a loop. */
const roundsMax = 200;

export class Story {
  readonly cluster = new ModelCluster();
  readonly virt = new Virt(this.cluster);
  /** The controller is down where false. */
  isLed = true;
  /** Every step that the leader did. */
  readonly done: ClaimStep[] = [];

  async run(name: string, nics: Nics = { n: "blue" }): Promise<void> {
    this.virt.createVm(name, nics);
    await this.start(name);
  }

  async start(name: string): Promise<void> {
    this.virt.running.add(name);
    await this.rest(name);
  }

  async stop(name: string): Promise<void> {
    this.virt.running.delete(name);
    await this.rest(name);
  }

  /** `finalizer`: foregroundDeletion, or orphan. */
  async delete(name: string, finalizer?: string): Promise<void> {
    this.cluster.vms.delete(this.cluster.vms.get(name)!, finalizer);
    await this.rest(name);
  }

  /** NIC -> definition: the VM's template from now on. */
  async change(name: string, nics: Nics, absent: readonly string[] = []): Promise<void> {
    const vm = this.cluster.vms.get(name)!;
    this.cluster.vms.update(vm, (now) => ({ ...now, spec: { ...now.spec, template: { spec: specOf(nics, absent) } } }));
    await this.rest(name);
  }

  /** The target of a migration, attached, beside its source. */
  async target(name: string): Promise<ModelPod> {
    const pod = this.virt.launch(this.vmi(name))!;
    await this.rest(name);
    return this.cluster.pods.get(pod.metadata.name!)!;
  }

  /** All that everybody does by themselves. */
  async rest(name: string): Promise<void> {
    for (let round = 0; round < roundsMax; round++) {
      const led = this.isLed ? await settle(this.cluster, name) : [];
      this.done.push(...led);
      const moved = this.#others(name) || (await this.#adds(name)) || this.cluster.collect() || led.length > 0;
      if (!moved) return;
    }
    throw new Error(`the story of ${name} does not rest.`);
  }

  #others(name: string): boolean {
    if (this.virt.step(name)) return true;
    const pods = [...this.cluster.pods.objects.values()];
    const pending = pods.find(({ node, metadata }) => node === pendingNode && metadata.deletionTimestamp === undefined);
    if (pending !== undefined) return this.virt.bind(pending, this.#roomFor(pending));
    return pods.some((pod) => this.virt.kubelet(pod)) || this.#running(name);
  }

  #roomFor({ vmiUid }: ModelPod): string {
    const used = new Set(this.virt.podsOf(vmiUid).map(({ node, isOver }) => (isOver ? "" : node)));
    return [...this.cluster.nodes].find(([node, state]) => state === "ready" && !used.has(node))![0];
  }

  /** The VMI says where it runs, when it first does. */
  #running(name: string): boolean {
    const vmi = this.cluster.vmis.get(name);
    const pod = this.pods(name)[0];
    if (vmi === undefined || vmi.status?.nodeName !== undefined || pod === undefined || pod.node === "") return false;
    return this.virt.move(vmi, pod);
  }

  async #adds(name: string): Promise<boolean> {
    for (const pod of this.pods(name)) {
      const isAttached = (nic: string): boolean => pod.status.some((each) => each.nic === nic);
      for (const nic of pod.listed.filter((each) => !isAttached(each.nic))) {
        if (pod.node !== pendingNode && (await finished(add(this.cluster, pod, nic)))) return true;
      }
    }
    return false;
  }

  vmi(name: string): ModelVmi {
    return this.cluster.vmis.get(name)!;
  }

  /** That live, of any VMI of the name. */
  pods(name: string): readonly ModelPod[] {
    return [...this.cluster.pods.objects.values()].filter(
      ({ metadata, isOver }) =>
        metadata.annotations?.["kubevirt.io/domain"] === name && !isOver && metadata.deletionTimestamp === undefined,
    );
  }

  claim(name: string, nic = "n"): StoredClaim | undefined {
    return this.cluster.claims.get(claimName(name, nic));
  }

  /** The addresses that are held for a VM's NIC, by whatever claim. */
  addresses(name: string): readonly string[] {
    return this.cluster
      .holds()
      .filter(({ owner }) => owner.name.startsWith(`${name}.`))
      .map(({ address }) => address.toString());
  }

  state(name: string, nic = "n"): ClaimState {
    return stateOf(gather(this.cluster, name), nic);
  }

  /** Reasons of the events that are so now, with what they are on. */
  events(name: string): readonly string[] {
    return planFamily(gather(this.cluster, name)).flatMap((step) =>
      step.kind === "event" ? [`${step.on} ${step.reason}`] : [],
    );
  }

  byHand(name: string, network = "blue-net"): StoredClaim {
    return this.cluster.claims.create({ metadata: { name, namespace }, spec: { network, interface: "" } })!;
  }

  /** Recorded on the claim of a VM's NIC. */
  ownerOf(vm: string): string | undefined {
    const claim = this.claim(vm);
    const ownership = claim === undefined ? undefined : ownershipOf(claim);
    return ownership?.kind === "owned" ? ownership.uid : undefined;
  }

  vmUid(name: string): string {
    return this.cluster.vms.get(name)!.metadata.uid!;
  }

  released(): number {
    return this.done.filter(({ kind }) => kind === "release").length;
  }

  claimNamed(name: string): StoredClaim | undefined {
    return this.cluster.claims.get(name);
  }

  /** An address for a claim, as an ADD by its name would take it. */
  async take(name: string, uid: string, address: string): Promise<void> {
    const owner = { kind: "claim", uid, namespace, name } as const;
    await this.cluster.ledger.take({
      domain: "blue-net",
      address: parseAddress(address),
      owner,
      note: { pool: "blue-net" },
    });
  }

  /** A pod that is no launcher and names a claim. */
  referring(claim: string): ModelPod {
    const nic = { nic: "", interfaceName: "net1", definition: "t/blue", claim };
    const metadata = { name: this.cluster.count("web"), namespace, finalizers: ["kubelet"] };
    return this.cluster.pods.create({ metadata, node: "n1", vmiUid: "", isOver: false, listed: [nic], status: [nic] })!;
  }

  optOut(name: string): void {
    const labels = { [persistenceLabelName]: "false" };
    this.cluster.vms.update(this.cluster.vms.get(name)!, (now) => ({ ...now, metadata: { ...now.metadata, labels } }));
  }

  /** A claim of ours that a backup brought back: its owner is of another life, and so is its UID. */
  restored(vm: string, address: string | undefined, ownerUid: string): StoredClaim {
    const annotations = { [claimOwnerAnnotation]: ownerUid, [claimNicAnnotation]: "n", [claimVmAnnotation]: vm };
    const creationTimestamp = new Date(this.cluster.nowMs).toISOString();
    return this.cluster.claims.create({
      metadata: { name: claimName(vm, "n"), namespace, annotations, finalizers: [claimFinalizer], creationTimestamp },
      spec: { network: "blue-net", interface: "" },
      ...(address !== undefined && { status: { ips: [`${address}/24`] } }),
    })!;
  }

  /** What would be done if the facts were a little different. */
  planWith(name: string, change: (facts: FamilyFacts) => FamilyFacts): readonly ClaimStep[] {
    return acts(change(gather(this.cluster, name)));
  }
}

/** Runs to its end with nothing in between. */
async function finished(task: AsyncGenerator<undefined, boolean>): Promise<boolean> {
  for (;;) {
    const { done, value } = await task.next();
    if (done === true) return value;
  }
}

/** Of a NIC of the VM, or of the VMI without one, that is there now. */
function stateOf(facts: FamilyFacts, nic: string): ClaimState {
  const family = familyOf(facts);
  const mine = family.lives[0];
  const own = family.claims.filter((each) => each.kind === "owned" && each.life === mine && each.nic === nic);
  const view = own.find((each) => isOnItsNetwork(each, family)) ?? own[0];
  if (mine !== undefined && view !== undefined) return stateOfClaim(facts, view.uid);
  const plain = claimName(facts.name, nic);
  if (family.claims.some(({ name }) => name === plain)) return "FOREIGN";
  const isHeld = family.loose.some((each) => each.nic === nic && attachedPods(looseTarget(each), family).length > 0);
  return isHeld ? "TERM" : "NONE";
}
