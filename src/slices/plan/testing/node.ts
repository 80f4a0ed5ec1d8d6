// A node of the simulation: Node object, disk, daemon, network. It writes to the API what the agent writes.
import { IntervalSet } from "../../../net/interval-set.ts";
import type { Prefix } from "../../../net/prefix.ts";
import type { NodeFacts } from "../facts.ts";
import { SimJournal } from "./journal.ts";
import type { Store } from "./store.ts";

export class SimNode {
  readonly name: string;
  journal: SimJournal;
  /** The Node object is there. */
  exists = true;
  isRunning = true;
  isPartitioned = false;
  /** The taint out-of-service. */
  isFenced = false;
  /** Was fenced since its daemon ran last: it compares its journal with the API before it hands out. */
  isVoid = false;
  /** Pods without an address. */
  readonly waiting: string[] = [];
  floating: Prefix | undefined;
  #boots = 0;

  constructor(name: string) {
    this.name = name;
    this.journal = new SimJournal(`${name}#0`);
  }

  get isReachable(): boolean {
    return this.isRunning && !this.isPartitioned;
  }

  facts(): NodeFacts {
    const { name, exists, isReachable, isFenced } = this;
    return {
      name,
      isPresent: exists || isReachable,
      ...(isFenced && { fenced: "out-of-service" }),
      ...(!exists && isReachable && { isLeaving: true }),
      ...(!isReachable && { isSilent: true }),
    };
  }

  /** Comes up. If the API server is there it compares, and marks each object: whoever read it before is refused. */
  start(store: Store): void {
    this.isRunning = true;
    if (!this.isReachable) return;
    this.#boots += 1;
    this.compare(store);
    for (const [key, grant] of this.journal.grants) {
      const word = store.slices.get(key)?.word ?? this.journal.wordOn(grant, new IntervalSet(), 0);
      store.patch(key, { word: { ...word, journal: `${this.journal.id}.${this.#boots}` } });
    }
    this.isVoid = false;
  }

  reimage(store: Store): void {
    this.journal = new SimJournal(`${this.name}#${(this.#boots += 1)}`);
    this.floating = undefined;
    this.start(store);
  }

  /** Hands nothing more out of a slice that the API does not show as the journal has it. */
  compare(store: Store): void {
    for (const [key, grant] of this.journal.grants) {
      const object = store.slices.get(key);
      const isCurrent = object?.grant?.generation === grant.generation;
      if (!isCurrent) this.journal.grants.delete(key);
    }
  }

  sync(store: Store, useful: IntervalSet): void {
    if (!this.isReachable) return;
    this.compare(store);
    this.floating = store.state.floating;
    for (const [key, object] of store.slices) if (object.node === this.name) this.journal.read(key, object);
    for (const grant of this.journal.grants.values()) {
      this.journal.work(grant, useful, (address, pod) => store.reserve(address, pod));
    }
  }

  speak(store: Store, useful: IntervalSet): void {
    if (!this.isReachable) return;
    const { journal } = this;
    const isShort = !this.canTake || this.freeOf(useful).length === 0;
    for (const [key, grant] of journal.grants) {
      const word = journal.wordOn(grant, useful, isShort ? this.waiting.length : 0);
      store.patch(key, { word: { ...word, journal: `${journal.id}.${this.#boots}` } });
    }
  }

  mirror(store: Store): void {
    if (!this.isReachable) return;
    for (const [key, grant] of this.journal.grants) {
      const held = this.journal.heldIn(grant).sort();
      store.patch(key, { mirror: new Map(held.map((each) => [each, this.journal.holds.get(each)!])) });
    }
  }

  get canTake(): boolean {
    return this.isRunning && !this.isVoid;
  }

  freeOf(useful: IntervalSet): string[] {
    if (!this.canTake) return [];
    return [...this.journal.grants.values()].flatMap((grant) => this.journal.freeIn(grant, useful));
  }
}
