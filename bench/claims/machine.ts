// One VM and what plays KubeVirt, the kubelet and Multus for it: objects in the order in which a real virt-controller
// was seen to write them, and the CNI calls of a node. Nothing of ours but the daemon behind `call`.
//
// Left out: the scheduler (pods are made on their node) and guests; only the API server and the daemon are waited for.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import {
  controllerFinalizer,
  domainSpec,
  elementsOf,
  foregroundFinalizer,
  launcherPod,
  networksAnnotation,
  ownedBy,
  type Pod,
  pods,
  statusAnnotation,
  type Vm,
  type Vmi,
  vmis,
  vms,
} from "../../test/claims/kubevirt/objects.ts";
import { type Attachment, attachmentOf, type BenchPod, type Command } from "../cni/attachment.ts";
import { type BenchLab, podNamespace } from "../cni/lab.ts";
import type { Reply } from "../cni/reply.ts";
import { configOf, type VmNetwork } from "./networks.ts";

/** The name of the network in every VM's spec. */
export const nic = "net";

export type Call = (node: string, command: Command, attachment: Attachment, config: string) => Promise<Reply>;

export interface MachinePlan {
  readonly lab: BenchLab;
  readonly call: Call;
  readonly network: VmNetwork;
  readonly name: string;
}

/** One attachment that was asked for. */
export interface Attached {
  /** When the request that led to it was sent: the VMI's, or the target pod's. */
  readonly beganMs: number;
  /** From then until the ADD was answered, with all that was tried before. */
  readonly tookMs: number;
  /** The last one. */
  readonly add: Reply;
  /** ADDs that were refused before, each with a sandbox of its own. */
  readonly retries: number;
}

/** As the kubelet does when a sandbox could not be made: again, after a second or so. */
const retryMs = 1000;
/** A daemon waits 25 s for a claim: two minutes. */
const triesMax = 5;

export class Machine {
  readonly name: string;
  readonly network: VmNetwork;
  /** When the request for the VM was sent. */
  createdMs = 0;
  readonly #lab: BenchLab;
  readonly #call: Call;
  readonly #config: string;
  #vm: Vm | undefined;
  #vmi: Vmi | undefined;
  /** Of the VMI that runs: the last one is where the guest is. */
  #attachments: Attachment[] = [];

  constructor({ lab, call, network, name }: MachinePlan) {
    this.#lab = lab;
    this.#call = call;
    this.network = network;
    this.name = name;
    this.#config = configOf(network);
  }

  /** Of the VM. */
  get uid(): string {
    return this.#vm?.metadata.uid ?? "";
  }

  /** As the documents say; the name alone proves nothing, so the audit goes by its UID. */
  get claimName(): string {
    return `${this.name}.${nic}`;
  }

  async create(runStrategy: "Always" | "Halted" = "Always"): Promise<void> {
    this.createdMs = performance.now();
    const template = { metadata: {}, spec: this.#spec() };
    const metadata = { namespace: podNamespace, name: this.name, finalizers: [controllerFinalizer] };
    this.#vm = await this.#lab.admin.create(vms, { metadata, spec: { runStrategy, template } });
  }

  /** A VMI, its pod on the node, and the ADD of its interface. */
  async start(node: string): Promise<Attached> {
    const beganMs = performance.now();
    await this.createInstance();
    return this.#launch(node, beganMs);
  }

  /** A VMI, and nothing else. */
  async createInstance(): Promise<void> {
    const metadata = {
      namespace: podNamespace,
      name: this.name,
      finalizers: [controllerFinalizer, foregroundFinalizer],
      ownerReferences: [ownedBy("VirtualMachine", this.#vm!)],
    };
    this.#vmi = await this.#lab.admin.create(vmis, { metadata, spec: this.#spec() });
  }

  /** The VMI goes again, one that never had a pod. */
  async removeInstance(): Promise<void> {
    await this.#lab.admin.delete(vmis, { namespace: podNamespace, name: this.name }, { gracePeriodSeconds: 0 });
    await this.#patchVmi({ metadata: { finalizers: [] } });
    this.#vmi = undefined;
  }

  /** What becomes of the objects when the guest runs: for the time between two measurements. */
  async ran({ add }: Attached): Promise<void> {
    const { pod, interface: port } = this.#attachments.at(-1)!;
    const at = { namespace: pod.namespace, name: pod.name };
    const element = { name: `${podNamespace}/${this.network.name}`, interface: port, ips: add.addresses };
    const annotations = { [statusAnnotation]: JSON.stringify([element]) };
    await this.#lab.admin.patch(pods, at, { type: "merge", body: { metadata: { annotations } } });
    const status = { phase: "Running" };
    await this.#lab.admin.patch(pods, at, { type: "merge", body: { status } }, { subresource: "status" });
    await this.#patchVmi({
      status: {
        phase: "Running",
        nodeName: pod.node,
        interfaces: [{ name: nic, podInterfaceName: port, infoSource: "multus-status" }],
        activePods: Object.fromEntries(this.#attachments.map((each) => [each.pod.uid, each.pod.node])),
      },
    });
  }

  /** A second pod of the same VMI on another node. Both are attached afterwards. */
  async migrate(node: string): Promise<Attached> {
    return this.#launch(node, performance.now(), this.#attachments.at(-1)!.pod.node);
  }

  /** The source's guest is gone: its pod has ended, and its object stays. */
  async left(): Promise<Reply> {
    const source = this.#attachments[0]!;
    const reply = await this.#detach(source);
    await this.#ended(source.pod);
    return reply;
  }

  /** Everything of the VMI goes: pods, then the VMI. The VM stays. */
  async stop(): Promise<Reply> {
    const at = { namespace: podNamespace, name: this.name };
    await this.#lab.admin.delete(vmis, at, { gracePeriodSeconds: 0 });
    const reply = await this.#detach(this.#attachments.at(-1)!);
    await this.#ended(this.#attachments.at(-1)!.pod);
    for (const { pod } of this.#attachments) {
      await this.#lab.admin.delete(pods, { namespace: pod.namespace, name: pod.name }, { gracePeriodSeconds: 0 });
    }
    await this.#patchVmi({ metadata: { finalizers: [] } });
    this.#attachments = [];
    return reply;
  }

  #spec(): Vmi["spec"] {
    return domainSpec([{ name: nic, definition: this.network.name }]);
  }

  async #launch(node: string, beganMs: number, sourceNode?: string): Promise<Attached> {
    const migration = sourceNode === undefined ? {} : { migration: { name: this.name, uid: randomUUID(), sourceNode } };
    const launcher = launcherPod(this.#vmi!, { scheme: "hashed", ...migration });
    const metadata = this.network.hasLaunchers ? launcher.metadata : asPod(launcher.metadata);
    const made = await this.#lab.admin.create(pods, { metadata, spec: { ...launcher.spec, nodeName: node } });
    const { name = "", uid = "" } = made.metadata;
    const pod: BenchPod = { namespace: podNamespace, name, uid, node };
    const [element] = elementsOf(this.#vmi!.spec, podNamespace, "hashed");
    for (let retries = 0; ; retries++) {
      const attachment = attachmentOf(pod, element!.interface);
      const add = await this.#call(node, "ADD", attachment, this.#config);
      if (add.problem === undefined || retries + 1 === triesMax) {
        this.#attachments.push(attachment);
        return { beganMs, tookMs: performance.now() - beganMs, add, retries };
      }
      await this.#detach(attachment);
      await sleep(retryMs);
    }
  }

  #detach(attachment: Attachment): Promise<Reply> {
    return this.#call(attachment.pod.node, "DEL", attachment, this.#config);
  }

  async #ended({ namespace, name }: BenchPod): Promise<void> {
    const body = { status: { phase: "Succeeded" } };
    await this.#lab.admin.patch(pods, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  }

  async #patchVmi(body: object): Promise<void> {
    const at = { namespace: podNamespace, name: this.name };
    await this.#lab.admin.patch(vmis, at, { type: "merge", body });
  }
}

/** The same without anything of KubeVirt's. */
function asPod({ namespace = "", generateName = "", annotations = {} }: Pod["metadata"]): Pod["metadata"] {
  return { namespace, generateName, annotations: { [networksAnnotation]: annotations[networksAnnotation] ?? "" } };
}
