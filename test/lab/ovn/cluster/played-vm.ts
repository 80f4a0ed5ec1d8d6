// A VM of the lab's cluster: its guest, its launcher pods, and the reconciler's steps after each change of these. Where
// the guest is and what is written is decided by src/migration alone.
import { setTimeout as pause } from "node:timers/promises";

import type { NodeSubnets } from "../../../../src/migration/objects/node-subnets.ts";
import { homeOf, networkOf, placementOf } from "../../../../src/migration/plan/placement-of.ts";
import { situate } from "../../../../src/migration/plan/situation.ts";
import type { Family } from "../../../../src/net/address.ts";
import type { VmPlacement } from "../../../../src/ovn/vm/placement.ts";
import { proxyAddress6 } from "../../../../src/ovn/zone/addresses.ts";
import type { GuestWishes, OvnGuest } from "../guest.ts";
import type { OvnLab } from "../lab.ts";
import { failToMigrate, type Migration, migrate, type MigrationWishes } from "../migration.ts";
import { PlayedLaunchers, type PlayedPod, type VmIdentity } from "./launchers.ts";

export interface MoveWishes extends Pick<MigrationWishes, "postCopy" | "signal"> {
  /** From QEMU's word until KubeVirt's; 0: the node's daemon has seen the guest's first frame. */
  readonly reactionMs?: number;
  /** The rows of the switch-over are written. The move goes on meanwhile. */
  readonly written?: () => Promise<void>;
}

/** What a VM is on: the cluster's default network, or a network of its own. */
export interface VmNetwork {
  readonly lab: OvnLab;
  /** What guests ask for addresses of. */
  readonly guestFamilies: readonly Family[];
  /** Homes of addresses; none where one switch spans all nodes. */
  readonly subnets: NodeSubnets;
  /** What DHCP tells of IPv4 beside the subnet, as `ip route` prints it. */
  readonly moreRoutes: readonly string[];
  portOf(vm: VmIdentity, pod: PlayedPod): Pick<GuestWishes, "port" | "portVersion">;
  /** Where the VM is now, in every database, and told to neighbours. `from`: where it was before. */
  write(vm: VmIdentity, placement: VmPlacement | "gone", from: string | undefined, signal: AbortSignal): Promise<void>;
}

const patienceMs = 60_000;

export class PlayedVm {
  readonly launchers: PlayedLaunchers;
  guest!: OvnGuest;
  /** As it was written last. */
  placement: VmPlacement | undefined;
  readonly #network: VmNetwork;
  #pod: PlayedPod;

  private constructor(network: VmNetwork, identity: VmIdentity, node: string) {
    this.#network = network;
    this.launchers = new PlayedLaunchers(identity);
    this.#pod = this.launchers.add(node);
  }

  static async start(network: VmNetwork, identity: VmIdentity, node: string, signal?: AbortSignal): Promise<PlayedVm> {
    const vm = new PlayedVm(network, identity, node);
    await vm.#boot(node, signal);
    return vm;
  }

  /** Its guest is shut down, and its pod and VMI are removed: nothing of it is left, but its address stays its own. */
  async stop(signal?: AbortSignal): Promise<void> {
    await this.guest.close();
    this.launchers.clear();
    await this.reconcile(signal);
  }

  /** After a stop: a new VMI with the same address, as a persistent claim keeps it. */
  async startAgain(node: string, signal?: AbortSignal): Promise<void> {
    this.#pod = this.launchers.add(node);
    await this.#boot(node, signal);
  }

  get name(): string {
    return this.launchers.vm.name;
  }

  /** The logical port where its guest is, or was last. */
  get port(): string {
    return this.#port(this.#pod).port;
  }

  /** The first, IPv4 where it has one. */
  get address(): string {
    return this.addresses[0]!;
  }

  /** Those that its guest asks for. */
  get addresses(): readonly string[] {
    return this.#addresses.map(({ address }) => `${address}`);
  }

  /** What its guest is to have as routes, in its own words: in IPv4 these alone, in IPv6 a router. */
  get routes(): readonly string[] {
    return this.#addresses.flatMap(({ address, prefix }) =>
      address.family === 6
        ? [`default via ${proxyAddress6} dev eth0`]
        : [`${prefix} dev eth0 scope link  src ${address}`, ...this.#network.moreRoutes],
    );
  }

  async move(node: string, { reactionMs = 0, written, ...wishes }: MoveWishes = {}): Promise<Migration> {
    const source = this.#pod;
    const target = this.launchers.add(node, this.guest.seat.node.name);
    await this.reconcile(wishes.signal);
    const resumed = async () => {
      if (reactionMs === 0) this.launchers.seen(target);
      else this.launchers.ready(target);
      await this.reconcile(wishes.signal);
      await written?.();
    };
    const moved = await migrate(this.guest, this.#network.lab.node(node), {
      ...wishes,
      ...this.#port(target),
      at: { resumed },
      delaysMs: { resumed: reactionMs },
    });
    this.#pod = target;
    this.launchers.ready(target);
    this.launchers.ended(source, "Succeeded");
    await this.reconcile(wishes.signal);
    return moved;
  }

  /**
   * A migration whose target dies, and the guest goes on where it was. `after-ready`: it had been called ready by then,
   * and everything was sent there for so long.
   */
  async fail(
    node: string,
    when: "before-ready" | { readonly readyForMs: number },
    signal?: AbortSignal,
  ): Promise<void> {
    const target = this.launchers.add(node, this.guest.seat.node.name);
    await this.reconcile(signal);
    const underWay = async () => {
      if (when === "before-ready") return;
      this.launchers.ready(target);
      await this.reconcile(signal);
      await pause(when.readyForMs, undefined, { signal });
    };
    const wishes = { ...this.#port(target), underWay, ...(signal && { signal }) };
    await failToMigrate(this.guest, this.#network.lab.node(node), wishes);
    this.launchers.ended(target, "Failed");
    await this.reconcile(signal);
  }

  async #boot(node: string, signal?: AbortSignal): Promise<void> {
    await this.reconcile(signal);
    const { name, network } = this.launchers.vm;
    const families = this.#network.guestFamilies;
    const wishes = { name, ...this.#port(this.#pod), mac: network.mac, families };
    this.guest = await this.#network.lab.guest(node, wishes, signal);
  }

  /** What the leader's reconciler does when a pod has changed. */
  async reconcile(signal: AbortSignal = AbortSignal.timeout(patienceMs)): Promise<void> {
    const { subnets } = this.#network;
    const { vm } = this.launchers;
    const pods = this.launchers.list();
    const network = networkOf(pods);
    const situation = situate(pods, { nowMs: Date.now(), home: homeOf(network, subnets) });
    const placement = network && placementOf(vm, situation, network, subnets);
    const from = this.placement?.activeNode;
    this.placement = placement;
    await this.#network.write(vm, placement ?? "gone", from, signal);
  }

  get #addresses() {
    const { guestFamilies } = this.#network;
    return this.launchers.vm.network.addresses.filter(({ address }) => guestFamilies.includes(address.family));
  }

  #port(pod: PlayedPod): Pick<GuestWishes, "port" | "portVersion"> {
    return this.#network.portOf(this.launchers.vm, pod);
  }
}
