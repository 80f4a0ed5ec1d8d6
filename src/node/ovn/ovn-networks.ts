// What may be attached to a network of OVN now, and what an ADD goes by: whose address moves with a VM, what the VM has
// been given already, which subnet the node has.
import { isOfOvnkube } from "../../cluster/ovnkube.ts";
import { hasEnded, type Pod, virtualMachineInstances } from "../../cluster/resources.ts";
import type { Trusted } from "../../cluster/trusted-namespaces.ts";
import type { NetworkConfig } from "../../cni/config/network.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import type { AttachmentInvocation } from "../../cni/invocation.ts";
import type { CniResult } from "../../cni/result.ts";
import type { Cache } from "../../kube/cache/store.ts";
import { sleep } from "../../kube/clock.ts";
import { keyOf } from "../../kube/meta.ts";
import type { Journal } from "../../ledger/journal/journal.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { CniRequest, DaemonContext, Tell } from "../context.ts";
import { type AttachmentKey, attachmentKey } from "../request/attachment.ts";
import type { LoadedConfig } from "../request/configurations.ts";
import { later } from "../request/failure.ts";
import type { FindPod, PodFacts } from "../request/pods.ts";
import { Attacher, type AttacherOptions, type AttachOrder } from "./attacher.ts";
import type { OvnRecord } from "./attachment-file.ts";
import { hasBridge, keeperOf, type MovingVm, movingVmOf, resultOf } from "./moving-vm.ts";
import { subnetsOf } from "./node-subnets.ts";
import { assertAttachable } from "./refusal.ts";
import { requestOf } from "./upkeep.ts";

export interface OvnNetworksOptions extends AttacherOptions {
  readonly findPod: FindPod;
  /** Of this node's pods. */
  readonly pods: { readonly cache: Pick<Cache<Pod>, "list">; readonly hasSynced: boolean };
  readonly journal: Pick<Journal, "holds">;
  readonly tell: Tell;
  /** Whose definitions may attach pods. */
  readonly trusted: Trusted;
}

/** What an ADD on a network of OVN goes by. */
export interface OvnAsk {
  readonly pod: PodFacts;
  readonly vm: MovingVm | undefined;
  readonly hasBridge: boolean;
  /** The VM has them already; nothing is taken. */
  readonly given: CniResult | undefined;
  /** Of this node on the default network; undefined: another network. */
  readonly subnets: readonly Prefix[] | undefined;
  /** Keeps the addresses after the pod. */
  readonly keeper: string | undefined;
}

/** The reconciler says a target's address within milliseconds; the kubelet's own call has minutes. */
const givenMs = 25_000;
const givenLookMs = 300;
/** A daemon that has just started reaches its switch within moments. */
const startMs = 5000;
const startLookMs = 50;

export class OvnNetworks {
  readonly attacher: Attacher;
  readonly #options: OvnNetworksOptions;

  constructor(options: OvnNetworksOptions) {
    this.#options = options;
    this.attacher = new Attacher(options);
  }

  /** In sentences why nothing can be attached now. */
  obstacles(): string[] {
    const { local } = this.#options;
    return [local.obstacle, this.#beside()].filter((words) => words !== "");
  }

  /** Throws CniError where it cannot be attached: 101 for ever, 11 for now. */
  async ask(
    invocation: AttachmentInvocation,
    loaded: LoadedConfig,
    found: PodFacts | undefined,
    signal: AbortSignal,
  ): Promise<OvnAsk> {
    const { local, node, client, clock, trusted } = this.#options;
    const { args, interfaceName } = invocation;
    if (found === undefined || found.uid === "") {
      const what = `the API server has no pod ${args.podNamespace}/${args.podName}`;
      throw later(`${what}, and only pods are attached to networks of OVN: make the pod anew if it was deleted.`);
    }
    const startedMs = clock.monotonicMs() + startMs;
    while (this.obstacles().length > 0 && clock.monotonicMs() < startedMs && (await sleep(clock, startLookMs, signal)));
    const [obstacle] = this.obstacles();
    if (obstacle !== undefined) throw later(obstacle);
    const { name: network, ovn } = loaded.network;
    const { bridgeMappings } = local;
    const beside = this.#besideOf(invocation, network, found);
    assertAttachable({ invocation, ovn: ovn!, network, pod: found, node, bridgeMappings, trusted, beside });
    if (ovn!.topology !== "default")
      return { pod: found, vm: undefined, hasBridge: false, given: undefined, subnets: undefined, keeper: undefined };
    const moving = movingVmOf(found);
    const pod = moving?.isTarget === true && moving.network === undefined ? await this.#told(found, signal) : found;
    const vm = moving && movingVmOf(pod);
    const isBridged = vm !== undefined && (await this.#hasBridge(pod, vm, interfaceName, signal));
    // Whoever makes a pod may write its annotations: the first pod of a VM has what the ledger says, and no other.
    const isGiven = vm?.network !== undefined && (vm.isTarget || this.#isKept(pod, vm));
    const given = isGiven ? resultOf(vm.network, loaded.config.dns) : undefined;
    const subnets = given === undefined ? await subnetsOf(client, node, signal) : [];
    return { pod, vm, hasBridge: isBridged, given, subnets, keeper: vm && keeperOf(vm) };
  }

  async attach(
    ask: OvnAsk,
    order: Pick<AttachOrder, "invocation" | "loaded" | "text" | "result" | "signal">,
  ): Promise<CniResult> {
    const { vm, pod, hasBridge: isBridged, subnets } = ask;
    if (subnets?.length === 0 && ask.given === undefined) {
      const what = `node ${this.#options.node} has no subnet on the default network yet (annotation k8s.ovn.org/node-subnets)`;
      throw later(
        `${what}: the controller tells it when the node's slice is granted (holdfast controller with --ovn-northbound); it goes on by itself.`,
      );
    }
    const moving = vm && { vm: { mac: ask.given && vm.network?.mac, hasBridge: isBridged } };
    return await this.attacher.attach({ ...order, pod, ...moving });
  }

  /** Of that network, by that definition, and none of what the runtime lists. */
  stale({ name, ovn }: NetworkConfig, valid: ReadonlySet<AttachmentKey>, signal: AbortSignal): CniRequest[] {
    const isOf = (each: OvnRecord) => each.network === name && each.definition === ovn?.definition;
    const { file } = this.#options;
    return file
      .all()
      .filter((each) => isOf(each) && !valid.has(attachmentKey(each)))
      .map((each) => requestOf(each, signal));
  }

  /** This node has the addresses on record for the VM: its pod has got another sandbox. */
  #isKept({ namespace }: PodFacts, vm: MovingVm): boolean {
    const keeper = keeperOf(vm);
    const own = Array.from(this.#options.journal.holds()).filter(
      ({ owner, note }) => note?.keeper === keeper && owner.namespace === namespace,
    );
    const addresses = new Set(own.map(({ address }) => `${address}`));
    return vm.network!.addresses.every(({ address }) => addresses.has(`${address}`));
  }

  /** Another interface of the same sandbox on the same network. */
  #besideOf({ containerId, interfaceName }: AttachmentInvocation, network: string, { uid }: PodFacts): string {
    const isBeside = (each: OvnRecord) =>
      each.network === network && each.pod.uid === uid && each.isGoing !== true && each.containerId === containerId;
    const all = this.#options.file.all().filter(isBeside);
    return all.find((each) => each.interfaceName !== interfaceName)?.interfaceName ?? "";
  }

  #beside(): string {
    const { pods: own } = this.#options;
    if (!own.hasSynced)
      return "the API server has not told yet which pods run on this node: look at it, and try again.";
    const other = Array.from(own.cache.list()).find((pod) => isOfOvnkube(pod.metadata) && !hasEnded(pod));
    if (other === undefined) return "";
    return `OVN-Kubernetes runs on this node (pod ${keyOf(other)}), and nothing is written beside it: take it away first (docs/live-migration.md).`;
  }

  /** A target before the reconciler has told it the VM's address. */
  async #told(pod: PodFacts, signal: AbortSignal): Promise<PodFacts> {
    const { clock, findPod } = this.#options;
    const endMs = clock.monotonicMs() + givenMs;
    do {
      const now = await findPod({ ...pod, isFresh: true }, signal);
      if (now !== undefined && movingVmOf(now)?.network !== undefined) return now;
    } while (clock.monotonicMs() < endMs && (await sleep(clock, givenLookMs, signal)));
    throw later(
      `pod ${pod.namespace}/${pod.name} is a migration's target, and nobody has told it the VM's address: look whether a controller leads and writes OVN (docs/live-migration.md).`,
    );
  }

  async #hasBridge(pod: PodFacts, { name }: MovingVm, interfaceName: string, signal: AbortSignal): Promise<boolean> {
    const { client, tell } = this.#options;
    const vmi = await client.lookUp(virtualMachineInstances, { namespace: pod.namespace, name }, { signal });
    if (hasBridge(vmi?.spec)) return true;
    const words = `${interfaceName}: the VM asks for live migration with bridge binding, and its binding is another: the interface gets its address as usual.`;
    tell(pod.object, "Warning", "NotBridged", words);
    return false;
  }
}

/** Undefined: another plugin attaches the pod. */
export async function askOvn(
  { ovn }: Pick<DaemonContext, "ovn">,
  invocation: AttachmentInvocation,
  loaded: LoadedConfig,
  pod: PodFacts | undefined,
  signal: AbortSignal,
): Promise<OvnAsk | undefined> {
  const { name, ovn: network } = loaded.network;
  if (network === undefined) return undefined;
  if (ovn !== undefined) return await ovn.ask(invocation, loaded, pod, signal);
  const what = `the network ${name} is attached by Holdfast's own plugin, and the daemon of this node was not told where OVN is`;
  throw new CniError(errorCodes.badConfiguration, `${what}: start it with --ovn-northbound (docs/cni.md).`);
}
