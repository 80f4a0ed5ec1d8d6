// A VM of the lab's cluster: its guest, its launcher pods, and the reconciler's steps after each change of these. Where
// the guest is and what is written is decided by src/migration alone.
import { zoneOrder } from "../../../../src/migration/leader/zone-order.ts";
import { homeOf, networkOf, placementOf } from "../../../../src/migration/plan/placement-of.ts";
import { situate } from "../../../../src/migration/plan/situation.ts";
import { podPort } from "../../../../src/ovn/names.ts";
import type { VmPlacement } from "../../../../src/ovn/vm/placement.ts";
import type { OvnGuest } from "../guest.ts";
import { type Migration, migrate, type MigrationWishes } from "../migration.ts";
import type { LabCluster } from "./cluster.ts";
import { PlayedLaunchers, type PlayedPod, type VmIdentity } from "./launchers.ts";

export interface MoveWishes extends Pick<MigrationWishes, "postCopy" | "signal"> {
  /** From QEMU's word until KubeVirt's; 0: the node's daemon has seen the guest's first frame. */
  readonly reactionMs?: number;
}

const patienceMs = 60_000;

export class PlayedVm {
  readonly launchers: PlayedLaunchers;
  guest!: OvnGuest;
  /** As it was written last. */
  placement: VmPlacement | undefined;
  readonly #cluster: LabCluster;
  #pod: PlayedPod;

  private constructor(cluster: LabCluster, identity: VmIdentity, node: string) {
    this.#cluster = cluster;
    this.launchers = new PlayedLaunchers(identity);
    this.#pod = this.launchers.add(node);
  }

  static async start(cluster: LabCluster, identity: VmIdentity, node: string, signal?: AbortSignal): Promise<PlayedVm> {
    const vm = new PlayedVm(cluster, identity, node);
    await vm.reconcile(signal);
    const { name, network } = identity;
    vm.guest = await cluster.lab.guest(node, { name, ...vm.#port(vm.#pod), mac: network.mac }, signal);
    return vm;
  }

  /** IPv4. */
  get address(): string {
    return `${this.launchers.vm.network.addresses[0]!.address}`;
  }

  async move(node: string, { reactionMs = 0, ...wishes }: MoveWishes = {}): Promise<Migration> {
    const source = this.#pod;
    const target = this.launchers.add(node, this.guest.seat.node.name);
    await this.reconcile(wishes.signal);
    const resumed = () => {
      if (reactionMs === 0) this.launchers.seen(target);
      else this.launchers.ready(target);
      return this.reconcile(wishes.signal);
    };
    const moved = await migrate(this.guest, this.#cluster.lab.node(node), {
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

  /** What the leader's reconciler does when a pod has changed. */
  async reconcile(signal: AbortSignal = AbortSignal.timeout(patienceMs)): Promise<void> {
    const { subnets, writer } = this.#cluster;
    const { namespace, name } = this.launchers.vm;
    const pods = this.launchers.list();
    const network = networkOf(pods);
    const situation = situate(pods, { nowMs: Date.now(), home: homeOf(network, subnets) });
    const placement = network && placementOf({ namespace, name }, situation, network, subnets);
    const zones = this.#cluster.zones;
    for (const zone of zoneOrder(placement ?? "gone", zones))
      await writer.write(zone, new Map([[`${namespace}/${name}`, placement ?? "gone"]]), signal);
    const from = this.placement?.activeNode;
    this.placement = placement;
    if (placement !== undefined) this.#cluster.announce(from, placement);
  }

  #port({ name, uid }: PlayedPod): { port: string; portVersion: string } {
    return { port: podPort(this.launchers.vm.namespace, name), portVersion: uid };
  }
}
