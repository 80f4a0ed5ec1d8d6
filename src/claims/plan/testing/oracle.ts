// What must be so at every instant, judged by what really runs (sandboxes) and not by objects. Slow and independent: it
// knows guests, addresses and claims, and nothing of plans.
import type { ClaimStep } from "../steps.ts";
import type { ModelCluster, Sandbox } from "./cluster.ts";
import type { PodNic } from "./objects.ts";
import { nicsOf } from "./virt.ts";

export class Oracle {
  readonly #cluster: ModelCluster;
  readonly faults: string[] = [];
  /** guest, NIC and network -> the address that it had first, and is to have again. */
  readonly #kept = new Map<string, string>();
  readonly #forgiven = new Set<string>();
  #seen: readonly Sandbox[] = [];

  constructor(cluster: ModelCluster) {
    this.#cluster = cluster;
  }

  /** After every single thing that happens. */
  look(): void {
    const sandboxes = this.#cluster.sandboxes.filter((each) => !this.#isEnding(each));
    for (const sandbox of sandboxes) {
      if (!this.#seen.includes(sandbox)) this.#attached(sandbox);
      const holds = this.#cluster.holds().filter((hold) => hold.domain === sandbox.network);
      const hold = holds.find(({ address }) => address.toString() === sandbox.address);
      if (hold === undefined) this.#fault(`${sandbox.address} is free and ${sandbox.pod} has it`);
      const other = sandboxes.find(
        ({ address, network, guest }) =>
          address === sandbox.address && network === sandbox.network && guest !== sandbox.guest,
      );
      if (other !== undefined) this.#fault(`${sandbox.address} is ${sandbox.pod}'s and ${other.pod}'s`);
    }
    this.#seen = sandboxes;
    this.#forget();
  }

  /** Its pod was deleted by force, and its kubelet can be reached and ends it now: the cooldown is for this. */
  #isEnding({ podUid, node }: Sandbox): boolean {
    return this.#cluster.pods.byUid(podUid) === undefined && this.#cluster.nodes.get(node) === "ready";
  }

  /** Before a step of a leader. */
  step(step: ClaimStep): void {
    if (step.kind !== "release") return;
    const { domain, address, owner, version } = step.hold.hold;
    const now = this.#cluster
      .holds()
      .find((hold) => hold.domain === domain && hold.address.toString() === address.toString());
    // A release that comes too late does nothing.
    if (now?.version !== version || now.owner.uid !== owner.uid) return;
    const claim = this.#cluster.claims.byUid(owner.uid);
    if (claim !== undefined) this.#fault(`${address} is freed and its claim ${claim.metadata.name} is there`);
  }

  /** A NIC that neither VM nor VMI has any more may come back with another address. */
  #forget(): void {
    const { vms, vmis, guests } = this.#cluster;
    const specs = [
      ...[...vms.objects.values()].map(({ metadata, spec }) => [metadata.uid!, spec?.template?.spec] as const),
      ...[...vmis.objects.values()].map(({ metadata, spec }) => [metadata.uid!, spec] as const),
    ];
    const there = new Set(
      specs.flatMap(([uid, spec]) =>
        nicsOf(spec).map(({ nic, definition }) => {
          return `${guests.get(uid)} ${nic} ${definition.split("/")[1]}-net`;
        }),
      ),
    );
    for (const key of this.#kept.keys()) if (!there.has(key)) this.#kept.delete(key);
  }

  /** From now on any address is right. */
  forgive(guest: string, nic: string): void {
    this.#forgiven.add(`${guest} ${nic}`);
  }

  #attached({ guest, nic, network, address, pod }: Sandbox): void {
    if (this.#forgiven.has(`${guest} ${nic}`)) return;
    const key = `${guest} ${nic} ${network}`;
    const before = this.#kept.get(key);
    if (before !== undefined && before !== address) this.#fault(`${pod} has ${address}, and its guest had ${before}`);
    this.#kept.set(key, address);
  }

  /** When nothing happens any more and every node is back. */
  end(): void {
    const { vms, vmis } = this.#cluster;
    const alive = new Set([...vms.objects.values(), ...vmis.objects.values()].map(({ metadata }) => metadata.uid));
    for (const { metadata } of this.#cluster.claims.objects.values()) {
      const owner = metadata.annotations?.["holdfast.io/claim-owner"];
      if (owner !== undefined && !alive.has(owner)) this.#fault(`claim ${metadata.name} of the dead ${owner} is left`);
    }
    for (const { owner, address, domain } of this.#cluster.holds()) {
      const isUsed = this.#cluster.sandboxes.some(
        (each) => each.network === domain && each.address === address.toString(),
      );
      if (
        !isUsed &&
        !this.#isListed(owner.name.split(".")[0]!, domain) &&
        this.#cluster.claims.byUid(owner.uid) === undefined
      )
        this.#fault(`${address} is held for nobody`);
    }
  }

  /** A pod of that VM that lives has a NIC on that network, and may ask for its address any moment. */
  #isListed(vm: string, network: string): boolean {
    const onNetwork = ({ definition }: PodNic): boolean => `${definition.split("/")[1]}-net` === network;
    const pods = [...this.#cluster.pods.objects.values()].filter(
      (pod) => pod.metadata.annotations?.["kubevirt.io/domain"] === vm,
    );
    return pods.some(({ isOver, listed }) => !isOver && listed.some(onNetwork));
  }

  #fault(what: string): void {
    if (!this.faults.includes(what)) this.faults.push(what);
  }
}
