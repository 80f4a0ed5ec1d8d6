// The tables of `holdfast slices`: one for each sliced range. Pure: a snapshot in, values and lines out.
import { sliceUseKey } from "../../api/slices/node-lease.ts";
import { columnLines } from "../../log/columns.ts";
import { counted } from "../../net/counted.ts";
import { compareEntries, keyOf } from "../../slices/plan/entry.ts";
import type { SlicePoolView, SliceView } from "./slice-view.ts";
import { leaseAgeMs, type SlicesSnapshot } from "./snapshot.ts";

/**
 * `assigned`: not granted yet. `sealed`: given back by the node, not taken yet by the controller.
 * `fenced`: the node was declared off. `waiting`: the node has nothing.
 */
export type SliceState = "assigned" | "active" | "returning" | "draining" | "sealed" | "fenced" | "waiting";

interface SliceRow {
  readonly node: string;
  /** Empty: none. */
  readonly slice: string;
  readonly state: SliceState;
  /** A piece that another node gave up. */
  readonly borrowed: boolean;
  readonly used: number;
  /** Free for any pod, as the node said last; null: it has not spoken. */
  readonly free: number | null;
  /** Pieces of it that are others' now. */
  readonly lent: readonly string[];
  /** Seconds since the node's Lease was renewed; null: never. */
  readonly leaseAgeSeconds: number | null;
  /** A sentence; empty: nothing to say. */
  readonly note: string;
}

export type RangeTable = ReturnType<typeof tableOf>;

export interface TableFilter {
  readonly node?: string;
  /** A network_name, or the NodeSlicePool's name. */
  readonly network?: string;
}

export function rangeTables(snapshot: SlicesSnapshot, filter: TableFilter = {}): RangeTable[] {
  const byPool = Map.groupBy(snapshot.slices, ({ namespace, pool }) => `${namespace}/${pool}`);
  return snapshot.pools
    .map((pool) => tableOf(snapshot, pool, byPool.get(pool.key) ?? [], filter.node))
    .filter(({ network, pool }) => filter.network === undefined || [network, pool].includes(filter.network))
    .filter(({ rows }) => filter.node === undefined || rows.length > 0)
    .toSorted((a, b) => (`${a.namespace}/${a.pool}` < `${b.namespace}/${b.pool}` ? -1 : 1));
}

function tableOf(
  snapshot: SlicesSnapshot,
  pool: SlicePoolView,
  slices: readonly SliceView[],
  node: string | undefined,
) {
  const told = snapshot.sliced.ranges.find(({ namespace, pool: name }) => `${namespace}/${name}` === pool.key);
  const network = told?.network ?? slices[0]?.network ?? "";
  const rows = [...rowsOf(snapshot, pool, slices), ...waitingOf(snapshot, pool, network)].filter(
    (row) => node === undefined || row.node === node,
  );
  const count = (state: SliceState) => rows.filter((row) => row.state === state).length;
  return {
    namespace: pool.namespace,
    pool: pool.name,
    network,
    range: String(pool.range),
    sliceSize: `/${pool.sliceLength}`,
    /** Empty: the controller has not taken it up. */
    phase: told?.phase ?? "",
    floating: pool.floating.join(","),
    slices: pool.totals,
    totals: {
      nodes: new Set(rows.map((row) => row.node)).size,
      used: rows.reduce((sum, { used }) => sum + used, 0),
      free: rows.reduce((sum, { free }) => sum + (free ?? 0), 0),
      borrowed: rows.filter(({ borrowed }) => borrowed).length,
      returning: count("returning"),
      draining: count("draining"),
      sealed: count("sealed"),
      fenced: count("fenced"),
      waiting: count("waiting"),
    },
    /** What the conditions say is not as it should be. */
    notes: notesOf(pool),
    rows,
  };
}

/** Every slice that has an object or is assigned, by its addresses. */
function rowsOf(snapshot: SlicesSnapshot, pool: SlicePoolView, slices: readonly SliceView[]): SliceRow[] {
  const objects = new Set(slices.map(keyOf));
  const bare = pool.allocations.filter((each) => !objects.has(keyOf(each)));
  const all = slices.map((slice) => ({ node: slice.node, block: slice.block, slice }));
  return [...all, ...bare.map((each) => ({ ...each, slice: undefined }))]
    .toSorted(compareEntries)
    .map(({ node, block, slice }) => ({
      node,
      slice: String(block),
      state: stateOf(slice),
      borrowed: block.length > pool.sliceLength,
      used: slice?.word?.used ?? slice?.entries.length ?? 0,
      free: freeOf(slice),
      lent: slice?.grant?.without ?? [],
      leaseAgeSeconds: ageOf(snapshot, node),
      note: noteOf(slice),
    }));
}

export function stateOf(slice: SliceView | undefined): SliceState {
  if (slice === undefined) return "assigned";
  if (slice.fenced !== "") return "fenced";
  const { grant, word } = slice;
  if (grant === undefined) return "assigned";
  return word?.sealed === true && word.generation === grant.generation ? "sealed" : grant.phase;
}

/** A slice that cannot hand out has nothing free, whatever the node said before. */
function freeOf(slice: SliceView | undefined): number | null {
  if (slice?.word === undefined) return null;
  return stateOf(slice) === "active" ? slice.word.free : 0;
}

function noteOf(slice: SliceView | undefined): string {
  if (slice === undefined) return "assigned, and its IPPool is not written yet";
  const { fenced, grant, word } = slice;
  if (fenced !== "") return `fenced by ${fenced}`;
  if (grant === undefined) return "its grant cannot be read: nothing is handed out of it";
  if (word === undefined) return "the node has not taken it up yet";
  if (word.generation !== grant.generation)
    return `the node works by grant ${word.generation}, this is ${grant.generation}`;
  if (word.short > 0) return grant.exhausted ?? `${word.short} requests found nothing free`;
  return grant.lend === undefined ? "" : `asked to lend ${grant.lend.addresses} addresses`;
}

function waitingOf(snapshot: SlicesSnapshot, { namespace, range }: SlicePoolView, network: string): SliceRow[] {
  const key = sliceUseKey({ namespace, network, range });
  return [...snapshot.leases.values()]
    .flatMap(({ node, slices }): SliceRow[] => {
      const note = slices.waiting[key];
      if (note === undefined) return [];
      const nothing = { slice: "", borrowed: false, used: 0, free: null, lent: [] };
      return [{ node, state: "waiting", ...nothing, leaseAgeSeconds: ageOf(snapshot, node), note }];
    })
    .toSorted((a, b) => (a.node < b.node ? -1 : 1));
}

function ageOf({ leases, nowMs }: SlicesSnapshot, node: string): number | null {
  const ageMs = leaseAgeMs(leases.get(node), nowMs);
  return ageMs === undefined ? null : Math.floor(ageMs / 1000);
}

/** Ready and Agreed are good when true, Exhausted when it is not. */
function notesOf({ conditions }: SlicePoolView): string[] {
  return conditions
    .filter(({ type, status }) => (type === "Exhausted" ? status === "True" : status === "False"))
    .map(({ type, message }) => `${type}: ${message}`);
}

export function rangeLines(table: RangeTable): string[] {
  const { namespace, pool, network, range, sliceSize, phase, floating, slices, totals, notes, rows } = table;
  const named = network === "" ? "no network name" : `network ${network}`;
  const head = `${namespace}/${pool}: ${named}, ${range} in slices of ${sliceSize}, ${phase || "not taken up yet"}`;
  const ofAll = `${slices.total || "?"} slices, ${slices.assigned || "?"} assigned, ${slices.free || "?"} free`;
  const states = (["borrowed", "returning", "draining", "sealed", "fenced", "waiting"] as const).filter(
    (each) => totals[each] > 0,
  );
  const fill = `${counted(totals.nodes, "node")}, ${counted(totals.used, "address")} used, ${totals.free} free`;
  return [
    head,
    `  ${ofAll}${floating === "" ? "" : `, floating ${floating}`}`,
    `  ${[fill, ...states.map((each) => `${totals[each]} ${each}`)].join(", ")}`,
    ...notes.map((note) => `  ${note}`),
    ...(rows.length === 0 ? [] : columnLines([heading, ...rows.map(cellsOf)]).map((line) => `  ${line}`)),
  ];
}

const heading = ["NODE", "SLICE", "STATE", "USED", "FREE", "LENT", "LEASE", "NOTE"] as const;

function cellsOf({ node, slice, state, borrowed, used, free, lent, leaseAgeSeconds, note }: SliceRow): string[] {
  return [
    node,
    slice || "-",
    borrowed ? `${state}, borrowed` : state,
    String(used),
    free === null ? "-" : String(free),
    lent.join(",") || "-",
    leaseAgeSeconds === null ? "never" : ageText(leaseAgeSeconds),
    note,
  ];
}

/** `12s`, `3m`, `26h`, `4d`: as kubectl's AGE. */
export function ageText(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
