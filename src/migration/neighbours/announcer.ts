// What one node tells the neighbours of a VM that has moved, and when: announcements.ts says what, this says it.
//
// Promised: it is said as often as announceAtMs has times, and no more once the VM has moved on. Not promised: that
// anybody hears it; rows are right without it, and connections only go on sooner.
import { podNetworksAnnotation, readPodNetwork } from "../../cluster/pod-network.ts";
import { hasEnded, type Pod, pods } from "../../cluster/resources.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Log } from "../../log/log.ts";
import type { Mac } from "../../net/mac.ts";
import type { VmPlacement } from "../../ovn/vm/placement.ts";
import { readLauncher } from "../objects/launcher.ts";
import { announceAtMs, type Announcement, announcementsOf, type Move, type Neighbour } from "./announcements.ts";
import { framesOf } from "./frames.ts";

export interface AnnouncerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  /** Its own. */
  readonly node: string;
  /** Where every VM is. */
  readonly placements: () => Iterable<VmPlacement>;
  /** Sends frames on the node's switch; they are made for the MAC of the port that they leave by. */
  readonly say: (frames: (sender: Mac) => readonly Uint8Array[]) => void;
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  /** VM -> what ends what is being said of it. */
  readonly #saying = new Map<string, AbortController>();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** Resolves when all is said, or the VM has moved again. It does not throw. */
  async moved(move: Move, signal: AbortSignal): Promise<void> {
    const { clock, log, node } = this.#options;
    const { namespace, name } = move.to;
    const vm = `${namespace}/${name}`;
    this.#saying.get(vm)?.abort();
    const saying = new AbortController();
    this.#saying.set(vm, saying);
    const until = AbortSignal.any([signal, saying.signal]);
    try {
      const beganMs = clock.monotonicMs();
      const own = announcementsOf(move, await this.#neighbours(move.to, until)).filter((each) => each.node === node);
      if (own.length === 0) return;
      log.debug("tells neighbours where a VM is", { vm, at: move.to.activeNode, announcements: own.length });
      for (const atMs of announceAtMs) {
        if (!(await sleep(clock, Math.max(0, atMs - (clock.monotonicMs() - beganMs)), until))) return;
        this.#say(own, vm);
      }
    } catch (error) {
      if (!until.aborted) log.warn("neighbours of a VM that has moved could not be told", { vm, error });
    } finally {
      if (this.#saying.get(vm) === saying) this.#saying.delete(vm);
    }
  }

  #say(all: readonly Announcement[], vm: string): void {
    try {
      this.#options.say((sender) => all.flatMap((each) => framesOf(each, sender)));
    } catch (error) {
      // The port may be made again before the next time.
      this.#options.log.warn("neighbours of a VM that has moved could not be told; it is said again", { vm, error });
    }
  }

  /** VMs, wherever they are; to a VM that is here, the pods of its home too: nobody else can be of its subnet. */
  async #neighbours({ activeNode, homeNode }: VmPlacement, signal: AbortSignal): Promise<readonly Neighbour[]> {
    const { client, node, placements, log } = this.#options;
    const vms = [...placements()].flatMap(({ mac, addresses, activeNode: at }): Neighbour[] =>
      at === undefined ? [] : [{ mac, node: at, addresses: addresses.map(({ address }) => address) }],
    );
    if (activeNode !== node || homeNode === undefined) return vms;
    const fieldSelector = `spec.nodeName=${homeNode}`;
    try {
      const { items } = await client.list(pods, { fieldSelector, signal });
      return [...vms, ...items.flatMap((pod) => neighbourOf(pod) ?? [])];
    } catch (error) {
      if (!signal.aborted) log.warn("pods that a VM has come from are not told to it", { node: homeNode, error });
      return vms;
    }
  }
}

/** Undefined: no pod of the default network with an address of its own, or a VM's, which is where its guest is. */
function neighbourOf(pod: DeepReadonly<Pod>): Neighbour | undefined {
  if (hasEnded(pod) || readLauncher(pod) !== undefined) return undefined;
  const network = readPodNetwork(pod.metadata.annotations?.[podNetworksAnnotation]);
  if (network === undefined) return undefined;
  return {
    mac: network.mac,
    node: pod.spec?.nodeName ?? "",
    addresses: network.addresses.map(({ address }) => address),
  };
}
