// The simulated cluster: nodes, pods, two leaders, and the rules that hold after every step.
import { parseAddress } from "../../../net/address.ts";
import { common, IntervalSet } from "../../../net/interval-set.ts";
import { intervalOf } from "../../../net/interval.ts";
import { keyOf } from "../entry.ts";
import { planSlices } from "../plan.ts";
import { cycleOf, type LeaderView, type PoolConfig, type WriteOrder } from "./leader.ts";
import { SimNode } from "./node.ts";
import { Store } from "./store.ts";
import { addressesOf } from "./universe.ts";

export interface WorldOptions {
  readonly config: PoolConfig;
  readonly nodes: number;
  readonly order?: WriteOrder;
}

interface Pod {
  readonly node: SimNode;
  address: string | undefined;
}

export class World {
  readonly store = new Store();
  readonly nodes: SimNode[] = [];
  /** Living pod -> where it runs, and its address. */
  readonly pods = new Map<string, Pod>();
  config: PoolConfig;
  readonly #order: WriteOrder;
  readonly #leaders: (Generator<void, void> | undefined)[] = [undefined, undefined];
  #serial = 0;

  constructor({ config, nodes, order = "objects-first" }: WorldOptions) {
    this.config = config;
    this.#order = order;
    for (let i = 0; i < nodes; i++) this.nodes.push(new SimNode(`node-${i}`));
  }

  #view(): LeaderView {
    return {
      store: this.store,
      config: () => this.config,
      nodes: () => this.nodes.map((each) => each.facts()),
      floatingInUse: () =>
        [this.store.state.floating, ...this.nodes.map(({ floating }) => floating)].filter((each) => each !== undefined),
    };
  }

  /** One write or read of one leader. */
  stepLeader(which: number): void {
    const cycle = (this.#leaders[which] ??= cycleOf(this.#view(), this.#order));
    if (cycle.next().done === true) this.#leaders[which] = undefined;
  }

  crashLeader(which: number): void {
    this.#leaders[which] = undefined;
  }

  runLeader(): void {
    for (const _ of cycleOf(this.#view(), this.#order));
  }

  addPod(node: SimNode): void {
    if (!node.isRunning) return;
    const name = `pod-${++this.#serial}`;
    this.pods.set(name, { node, address: undefined });
    node.waiting.push(name);
    this.serve(node);
  }

  /** Gives free addresses to waiting pods, the highest first, so that slices fill from different ends. */
  serve(node: SimNode): void {
    const free = node.freeOf(this.config.useful);
    while (node.waiting.length > 0) {
      const address = free.splice((node.waiting.length * 7) % Math.max(1, free.length), 1)[0];
      if (address === undefined) return;
      const pod = node.waiting.shift()!;
      node.journal.holds.set(address, pod);
      this.pods.get(pod)!.address = address;
    }
  }

  /** A claim: from the floating part, through the reservation ledger. */
  addClaim(node: SimNode): void {
    if (!node.isReachable || node.floating === undefined) return;
    const name = `claim-${++this.#serial}`;
    const address = addressesOf([intervalOf(node.floating)]).find((each) => this.store.reserve(each, name));
    if (address !== undefined) this.pods.set(name, { node, address });
  }

  removePod(name: string): void {
    const pod = this.pods.get(name);
    if (pod === undefined) return;
    this.pods.delete(name);
    const { node, address } = pod;
    const at = node.waiting.indexOf(name);
    if (at >= 0) node.waiting.splice(at, 1);
    if (address !== undefined && node.isRunning && node.journal.holds.get(address) === name)
      node.journal.holds.delete(address);
    if (address !== undefined && node.isReachable && this.store.reservations.get(address) === name)
      this.store.unreserve(address);
  }

  killPodsOf(node: SimNode): void {
    for (const [name, pod] of this.pods) if (pod.node === node) this.pods.delete(name);
    node.waiting.length = 0;
  }

  /** Frees the addresses of dead pods. */
  collect(): void {
    for (const { journal, isReachable } of this.nodes) {
      if (!isReachable) continue;
      for (const [address, pod] of journal.holds) if (!this.pods.has(pod)) journal.holds.delete(address);
    }
    for (const [address, pod] of this.store.reservations) if (!this.pods.has(pod)) this.store.unreserve(address);
  }

  /** Everything works again, until nothing changes any more. */
  settle(): void {
    for (const node of this.nodes) {
      Object.assign(node, { exists: true, isPartitioned: false, isFenced: false });
      if (!node.isRunning) node.start(this.store);
      else if (node.isVoid) node.start(this.store);
    }
    this.crashLeader(0);
    this.crashLeader(1);
    // Each round moves a piece at least; there are fewer than 256 addresses.
    for (let round = 0, still = 0; still < 3; round++) {
      if (round > 1000) throw new Error("it does not settle");
      const before = this.#signature();
      this.collect();
      for (const node of this.nodes) {
        node.sync(this.store, this.config.useful);
        this.serve(node);
        node.speak(this.store, this.config.useful);
        node.mirror(this.store);
      }
      this.runLeader();
      this.check();
      still = before === this.#signature() ? still + 1 : 0;
    }
  }

  #signature(): string {
    const held = this.nodes.map(({ journal, waiting }) => [...journal.holds.keys(), waiting.length].join());
    return `${this.store.version} ${held.join("|")}`;
  }

  /** Throws where an address is in two journals, of two pods, or of a living pod and in no record. */
  check(): void {
    this.#checkBlocks();
    this.#checkPods();
  }

  #checkBlocks(): void {
    const all = new IntervalSet();
    for (const { name, journal, isVoid } of this.nodes) {
      if (isVoid) continue;
      for (const [key, grant] of journal.grants) {
        for (const each of journal.ownedBy(grant)) {
          const clash = [...common([each], all)][0];
          if (clash !== undefined) throw new Error(`${clash.first} is in two journals: again by ${key}, ${name}`);
          all.add(each);
        }
      }
    }
  }

  #checkPods(): void {
    const given = new Map<string, string>();
    for (const [name, { node, address }] of this.pods) {
      if (address === undefined) continue;
      const other = given.get(address);
      if (other !== undefined) throw new Error(`${address} is given to ${other} and to ${name}`);
      given.set(address, name);
      const isHeld = node.journal.holds.get(address) === name || this.store.reservations.get(address) === name;
      if (!isHeld) throw new Error(`${address} of ${name} is held nowhere`);
    }
    for (const { journal, canTake } of this.nodes) {
      if (!canTake) continue;
      for (const grant of journal.grants.values()) {
        for (const address of journal.freeIn(grant, this.config.useful)) {
          const holder = given.get(address);
          if (holder !== undefined) throw new Error(`${address} of ${holder} is free to ${journal.id}`);
        }
      }
    }
  }

  /** The addresses that pods could have and none has: none while a pod waits. */
  unused(): string[] {
    const { range, useful } = this.config;
    const floating = this.store.status.allocations.filter(({ node }) => node === "floating.holdfast.io");
    const kept = IntervalSet.of(floating.map(({ block }) => intervalOf(block)));
    const held = new Set([
      ...this.store.reservations.keys(),
      ...this.nodes.flatMap(({ journal }) => [...journal.holds.keys()]),
    ]);
    return addressesOf(common([intervalOf(range)], useful)).filter(
      (each) => !held.has(each) && !kept.has(parseAddress(each)),
    );
  }

  /** A plan made now changes nothing. */
  isPlanned(): boolean {
    const { store, config } = this;
    const view = this.#view();
    const facts = {
      ...config,
      ...store.status,
      slices: [...store.slices.values()],
      floatingInUse: view.floatingInUse(),
    };
    const reserved = Array.from(store.reservations.keys(), (each) => ({
      first: parseAddress(each),
      last: parseAddress(each),
    }));
    const plan = planSlices({ ...facts, reserved, nodes: view.nodes() });
    return (
      plan.removals.length === 0 && plan.grants.every((each) => store.slices.get(keyOf(each))?.grant === each.grant)
    );
  }
}
