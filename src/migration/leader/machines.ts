// One VM: its pods are told its addresses, its rows are written, its migration goes on record. Level-based: whatever
// was missed, the pods as they are now say what is to be done.
import { type FoundNetwork, networkEntry, podNetworksAnnotation, writePodNetworks } from "../../cluster/pod-network.ts";
import { Recent } from "../../kube/cache/recent.ts";
import type { ObjectKey } from "../../kube/meta.ts";
import { parseKey } from "../../kube/meta.ts";
import type { Address } from "../../net/address.ts";
import type { VmPlacement } from "../../ovn/vm/placement.ts";
import { addressSinceAnnotation, isLiving, type Launcher } from "../objects/launcher.ts";
import { reservedOnNodes } from "../objects/node-subnets.ts";
import { addressSteps, type AddressStep, strangers } from "../plan/inheritance.ts";
import { homeOf, networkOf, placementOf } from "../plan/placement-of.ts";
import { holderOf } from "../plan/rivals.ts";
import { situate, type Situation } from "../plan/situation.ts";
import { annotate } from "./annotate.ts";
import type { MigrationCaches } from "./caches.ts";
import type { MigrationOptions } from "./options.ts";
import type { Records } from "./records.ts";
import type { ZoneRows } from "./zone-rows.ts";

/** The first pod could not be given an address: asked again after. */
const addressMs = 2000;
/** Sentences told in an event, so that they are told once: about 200 bytes each. */
const remembered = 10_000;

type Result = { readonly requeueAfterMs: number } | undefined;

export interface MachinesParts {
  readonly caches: MigrationCaches;
  readonly rows: ZoneRows;
  readonly records: Records;
}

export class Machines {
  readonly #options: MigrationOptions;
  readonly #caches: MigrationCaches;
  readonly #rows: ZoneRows;
  readonly #records: Records;
  /** VM -> the node that its rows name, as far as this process wrote them. */
  readonly #activeNodes = new Map<ObjectKey, string>();
  readonly #told = new Recent<true>(remembered);

  constructor(options: MigrationOptions, { caches, rows, records }: MachinesParts) {
    this.#options = options;
    this.#caches = caches;
    this.#rows = rows;
    this.#records = records;
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<Result> {
    const { clock } = this.#options;
    const beganMs = clock.monotonicMs();
    const pods = this.#caches.launchersOf(key);
    const requeueAfterMs = await this.#address(pods, signal);
    const network = networkOf(pods);
    // A living VM of which nobody knows the address: what is there of it stays.
    if (network === undefined && pods.some(isLiving))
      return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
    const situation = this.#situate(pods, network);
    this.#tellProblems(pods);
    const { namespace = "", name } = parseKey(key);
    const isTheirs = network !== undefined && this.#isAnothers(key, network, pods);
    const placement = network && !isTheirs ? this.#place(key, situation, network) : undefined;
    await this.#rows.write(key, placement ?? "gone", signal);
    this.#moved(key, placement);
    if (this.#options.keepsRecords !== false) {
      const tookMs = clock.monotonicMs() - beganMs;
      await this.#records.saw(key, { namespace, vm: name, situation, atMs: clock.wallMs(), tookMs }, pods, signal);
    }
    if (situation.recheckMs === undefined) return undefined;
    return { requeueAfterMs: Math.max(1, situation.recheckMs - clock.wallMs()) };
  }

  /** As its pods say it now; undefined: they do not, or its addresses are another VM's. */
  placement(key: ObjectKey): VmPlacement | undefined {
    const pods = this.#caches.launchersOf(key);
    const network = networkOf(pods);
    if (network === undefined || this.#rivalOf(key, network) !== undefined) return undefined;
    return this.#place(key, this.#situate(pods, network), network);
  }

  /** Addresses of VMs that run, by the node whose subnet they are in now: nobody else may have them there. */
  reserved(): ReadonlyMap<string, readonly Address[]> {
    const running = [...this.#caches.vms()]
      .map((key) => this.#caches.launchersOf(key))
      .filter((all) => all.some(isLiving));
    const addresses = running.flatMap((pods) => networkOf(pods)?.addresses.map(({ address }) => address) ?? []);
    return reservedOnNodes(addresses, this.#caches.nodeSubnets);
  }

  /** In how many milliseconds to ask again; undefined: all is said, or somebody else is to say it. */
  async #address(pods: readonly Launcher[], signal: AbortSignal): Promise<number | undefined> {
    if (this.#options.keepsRecords === false) return undefined;
    let againMs: number | undefined;
    for (const step of addressSteps(pods)) if (!(await this.#carryOut(step, signal))) againMs = addressMs;
    return againMs;
  }

  async #carryOut(step: AddressStep, signal: AbortSignal): Promise<boolean> {
    const { client, addresses, log } = this.#options;
    const { to } = step;
    const pod = this.#caches.podOf(to);
    if (pod === undefined) return true;
    const before = pod.metadata.annotations?.[podNetworksAnnotation];
    if (step.kind === "copy") {
      const since = new Date(step.sinceMs).toISOString();
      const texts = { [podNetworksAnnotation]: writePodNetworks(before, step.entry), [addressSinceAnnotation]: since };
      await annotate(client, pod, texts, signal);
      log.debug("told a migration's target its addresses", { pod: to.name, node: to.node });
      return true;
    }
    if (addresses === undefined) return true;
    const subnets = this.#caches.nodeSubnets.get(to.node) ?? [];
    const network = await addresses.take(to, subnets, signal);
    if (network === undefined) return false;
    await annotate(client, pod, { [podNetworksAnnotation]: writePodNetworks(before, networkEntry(network)) }, signal);
    return true;
  }

  #situate(pods: readonly Launcher[], network: FoundNetwork | undefined): Situation {
    return situate(pods, { nowMs: this.#options.clock.wallMs(), home: homeOf(network, this.#caches.nodeSubnets) });
  }

  #place(key: ObjectKey, situation: Situation, network: FoundNetwork): VmPlacement | undefined {
    const { namespace = "", name } = parseKey(key);
    return placementOf({ namespace, name }, situation, network, this.#caches.nodeSubnets);
  }

  #isAnothers(key: ObjectKey, network: FoundNetwork, pods: readonly Launcher[]): boolean {
    const rival = this.#rivalOf(key, network);
    if (rival === undefined) return false;
    const { address, holder } = rival;
    const words = `${address} is the address of VM ${holder}, which had it first: this VM has no network until it is started anew.`;
    this.#tell(pods, "AddressTaken", words);
    return true;
  }

  /** Another VM has had one of its addresses for longer. */
  #rivalOf(key: ObjectKey, { addresses }: FoundNetwork): { address: Address; holder: ObjectKey } | undefined {
    for (const { address } of addresses) {
      const holder = holderOf(this.#caches.holdersOf(`${address}`));
      if (holder !== undefined && holder !== key) return { address, holder };
    }
    return undefined;
  }

  #tellProblems(pods: readonly Launcher[]): void {
    for (const { name, node, network } of strangers(pods)) {
      const other = network?.addresses.map(({ address }) => `${address}`).join(", ");
      const words = `Pod ${name} on ${node} was given ${other}, which is not the VM's: the VM keeps its own.`;
      this.#tell(pods, "AddressDiffers", words);
    }
  }

  #tell(pods: readonly Launcher[], reason: string, words: string): void {
    const { events, log, keepsRecords } = this.#options;
    const [first] = pods;
    const id = `${first?.instance} ${words}`;
    if (first === undefined || keepsRecords === false || this.#told.get(id) === true) return;
    this.#told.set(id, true);
    log.warn(words, { vm: `${first.namespace}/${first.vm}` });
    const metadata = { namespace: first.namespace, name: first.vm, uid: first.instance };
    events?.record(
      { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", metadata },
      "Warning",
      reason,
      words,
    );
  }

  #moved(key: ObjectKey, placement: VmPlacement | undefined): void {
    const from = this.#activeNodes.get(key);
    const node = placement?.activeNode;
    if (placement === undefined) this.#activeNodes.delete(key);
    else if (node !== undefined) this.#activeNodes.set(key, node);
    if (placement !== undefined && node !== undefined && from !== undefined && from !== node)
      this.#options.onMove?.({ from, to: placement });
  }
}
