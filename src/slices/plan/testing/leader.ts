// The controller in the simulation: reads, plans, writes one thing at a time. A cycle may stop, or sleep, at any yield.
import { parseBlock } from "../../../net/interval.ts";
import { keyOf } from "../entry.ts";
import type { NodeFacts, PoolFacts, SlicePlan } from "../facts.ts";
import { planSlices } from "../plan.ts";
import type { Store, StoredSlice, StoredStatus } from "./store.ts";

export type PoolConfig = Pick<PoolFacts, "range" | "sliceLength" | "floatingLength" | "useful" | "wanted" | "mayGrant">;

export interface LeaderView {
  readonly store: Store;
  readonly config: () => PoolConfig;
  readonly nodes: () => readonly NodeFacts[];
  readonly floatingInUse: () => PoolFacts["floatingInUse"] & {};
}

/** Objects and then the status, then the grants; `status-first` is the order that a sleeping leader breaks. */
export type WriteOrder = "objects-first" | "status-first";

/** One look and its writes. Ends early where a write is refused. */
export function* cycleOf(view: LeaderView, order: WriteOrder): Generator<void, void> {
  const { store } = view;
  const config = view.config();
  const state = store.state;
  const status = store.status;
  yield;
  const slices = new Map(store.slices);
  yield;
  const reserved = Array.from(store.reservations.keys(), (each) => parseBlock(each));
  const floatingInUse = view.floatingInUse();
  yield;
  const { allocations, lastGeneration } = status;
  const facts = { ...config, allocations, lastGeneration, slices: [...slices.values()], reserved, floatingInUse };
  const plan = planSlices({ ...facts, nodes: view.nodes() });
  yield;
  if (yield* write(store, plan, { slices, status, order })) store.writeState(plan.floating, state.version);
}

interface Read {
  readonly slices: ReadonlyMap<string, StoredSlice>;
  readonly status: StoredStatus;
  readonly order: WriteOrder;
}

function* write(store: Store, plan: SlicePlan, { slices, status, order }: Read): Generator<void, boolean> {
  for (const each of plan.removals) {
    if (!store.remove(keyOf(each), slices.get(keyOf(each))?.version)) return false;
    yield;
  }
  if (order === "status-first" && !store.writeStatus(plan, status.version)) return false;
  yield;
  /** keyOf -> version */
  const made = new Map<string, number>();
  for (const each of plan.grants) {
    if (slices.has(keyOf(each))) continue;
    const version = store.create(each);
    if (version === undefined) return false;
    made.set(keyOf(each), version);
    yield;
  }
  if (order === "objects-first" && !store.writeStatus(plan, status.version)) return false;
  yield;
  for (const { grant, ...at } of plan.grants) {
    const seen = slices.get(keyOf(at));
    if (seen?.grant === grant) continue;
    if (!store.patch(keyOf(at), { grant }, seen?.version ?? made.get(keyOf(at)))) return false;
    yield;
  }
  return true;
}
