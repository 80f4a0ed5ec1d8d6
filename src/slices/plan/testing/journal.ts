// A node's journal in the simulation: docs/decisions/0013 and nothing else. It outlives its daemon, not its disk.
import { blocksOf, type NodeWord } from "../../../api/slices/slice-grant.ts";
import { parseAddress } from "../../../net/address.ts";
import { prefixesOf } from "../../../net/cover.ts";
import { difference, IntervalSet } from "../../../net/interval-set.ts";
import { type Interval, intervalOf, parseBlock } from "../../../net/interval.ts";
import { contains, containsPrefix, Prefix } from "../../../net/prefix.ts";
import type { StoredSlice } from "./store.ts";
import { addressesOf } from "./universe.ts";

export interface JournalGrant {
  readonly block: Prefix;
  generation: number;
  serial: number;
  phase: "active" | "returning" | "draining";
  without: readonly Prefix[];
  taken: readonly Interval[];
  lend: { readonly ask: number; readonly addresses: number } | undefined;
  gives: { readonly ask: number; readonly block: Prefix } | undefined;
  sealed: boolean;
  readonly moved: string[];
}

export class SimJournal {
  readonly id: string;
  /** keyOf -> grant */
  readonly grants = new Map<string, JournalGrant>();
  /** address (text) -> pod */
  readonly holds = new Map<string, string>();

  constructor(id: string) {
    this.id = id;
  }

  /** The addresses that it may ever hand out by this grant, now or when the grant is active again. */
  ownedBy(grant: JournalGrant): IntervalSet {
    if (grant.sealed) return new IntervalSet();
    const gone = grant.gives === undefined ? grant.without : [...grant.without, grant.gives.block];
    return difference([intervalOf(grant.block)], gone.map(intervalOf));
  }

  freeIn(grant: JournalGrant, useful: IntervalSet): string[] {
    if (grant.phase !== "active") return [];
    const open = difference(this.ownedBy(grant), grant.taken);
    return addressesOf(open).filter((each) => !this.holds.has(each) && useful.has(parseAddress(each)));
  }

  heldIn({ block }: JournalGrant): string[] {
    return [...this.holds.keys()].filter((each) => contains(block, parseAddress(each)));
  }

  /** Takes up the object's grant, and the last word of another journal of this node: somebody may have acted on it. */
  read(key: string, object: StoredSlice): void {
    const { grant, word, block } = object;
    if (grant === undefined) return;
    let mine = this.grants.get(key);
    if (mine === undefined || mine.generation < grant.generation) {
      for (const [address, pod] of object.mirror) if (!this.holds.has(address)) this.holds.set(address, pod);
      const said = word?.generation === grant.generation ? word : undefined;
      mine = {
        block,
        ...givenOf(said),
        generation: grant.generation,
        serial: 0,
        phase: "active",
        without: [],
        taken: [],
        lend: undefined,
      };
      this.grants.set(key, mine);
    }
    if (mine.generation > grant.generation || mine.serial >= grant.serial) return;
    const { serial, phase, lend } = grant;
    const without = blocksOf(grant.without);
    Object.assign(mine, { serial, phase, lend, without, taken: grant.taken.map((each) => parseBlock(each)) });
    const given = mine.gives?.block;
    if (given !== undefined && without.some((each) => containsPrefix(each, given))) mine.gives = undefined;
  }

  /** Does what the grant asks for. `reserve` is the reservation ledger; false where it cannot be reached. */
  work(grant: JournalGrant, useful: IntervalSet, reserve: (address: string, pod: string) => boolean): void {
    if (grant.sealed) return;
    if (grant.phase === "active" && grant.lend !== undefined && grant.gives === undefined) this.#give(grant, useful);
    if (grant.phase === "draining") this.#move(grant, reserve);
    const mine = this.heldIn(grant).filter((each) => this.ownedBy(grant).has(parseAddress(each)));
    if (grant.phase !== "active" && mine.length === 0) grant.sealed = true;
  }

  #give(grant: JournalGrant, useful: IntervalSet): void {
    const { ask, addresses } = grant.lend!;
    const free = IntervalSet.of(this.freeIn(grant, useful).map((each) => parseBlock(each)));
    const blocks = [...free].flatMap((each) => prefixesOf(each));
    const fitting = blocks.map((each) => shrunk(each, addresses)).sort((a, b) => a.length - b.length);
    const [block] = fitting;
    if (block !== undefined) grant.gives = { ask, block };
  }

  #move(grant: JournalGrant, reserve: (address: string, pod: string) => boolean): void {
    for (const address of this.heldIn(grant)) {
      if (!this.ownedBy(grant).has(parseAddress(address))) continue;
      if (!reserve(address, this.holds.get(address)!)) return;
      this.holds.delete(address);
      grant.moved.push(address);
    }
  }

  wordOn(grant: JournalGrant, useful: IntervalSet, short: number): NodeWord {
    const { generation, serial, sealed, moved, gives } = grant;
    return {
      journal: this.id,
      generation,
      serial,
      sealed,
      moved: [...moved],
      ...(gives !== undefined && { gives: { ask: gives.ask, block: String(gives.block) } }),
      used: this.heldIn(grant).filter((each) => this.ownedBy(grant).has(parseAddress(each))).length,
      free: this.freeIn(grant, useful).length,
      short,
    };
  }
}

function givenOf(said: NodeWord | undefined): Pick<JournalGrant, "gives" | "sealed" | "moved"> {
  const [block] = blocksOf(said?.gives === undefined ? [] : [said.gives.block]);
  const gives = block === undefined ? undefined : { ask: said!.gives!.ask, block };
  return { gives, sealed: said?.sealed ?? false, moved: [...(said?.moved ?? [])] };
}

/** The first part of the block that has at most so many addresses. */
function shrunk(block: Prefix, addresses: number): Prefix {
  let length = block.length;
  while (Prefix.around(block.network, length).size > BigInt(addresses)) length += 1;
  return Prefix.around(block.network, length);
}
