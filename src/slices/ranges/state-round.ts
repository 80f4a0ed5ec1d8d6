// The sliced ranges in holdfast-state: the leader reads the state, moves ranges on (phases.ts), writes it guarded.
// Promised: nothing is written while handing out is paused; while whereabouts is active only a missing `sliced`, as
// recorded. A phase is on its pool before daemons are told. The leader rests on an unreadable state: it may be paused.
import { networkAnnotation } from "../../api/holds/hold-marks.ts";
import { readPoolName } from "../../api/pools/pool-name.ts";
import { readSeen, seenAnnotation } from "../../api/slices/node-lease.ts";
import { sliceLabelName } from "../../api/slices/slice-grant.ts";
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import { configMaps, ipPools, type ConfigMap } from "../../cluster/resources.ts";
import { prefixOf } from "../../cluster/slice-object.ts";
import {
  readSlicedRanges,
  refusedKey,
  slicedKey,
  writeRefusals,
  writeSlicedRanges,
} from "../../cluster/sliced-ranges.ts";
import type { SlicedPhase, SlicedRange, SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { fetchState, readState, restoredKey, restsOf, stateName } from "../../cluster/state.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { Nodes } from "../nodes.ts";
import type { Overview } from "../overview.ts";
import type { ReservedAddresses } from "../reserved-addresses.ts";
import type { RestoredJournals } from "../restored-journals.ts";
import type { PoolPhase } from "../writers/pool-writer.ts";
import { isSharedOver, keyOf, nextSliced, phasesOf, toldAgain } from "./phases.ts";
import type { PhaseFacts, PoolBlocks, WantedRange } from "./phases.ts";
import type { PoolTarget } from "./pool-targets.ts";

export interface StateRoundOptions extends Pick<ReconcilerOptions, "client" | "clock" | "log" | "systemNamespace"> {
  readonly nodes: Nodes;
  readonly reserved: ReservedAddresses;
  readonly journals: RestoredJournals;
  readonly overview: () => Pick<Overview, "blocks" | "plan" | "refusals">;
  /** Writes the phase on the pool of the range; makes a missing pool. */
  readonly mark: (target: PoolTarget, phase: SlicedPhase, signal: AbortSignal) => Promise<void>;
  /** Records the domain of what is shared of the range on its pool objects, also that of the floating part. */
  readonly settle: (target: PoolTarget, floating: Prefix | undefined, signal: AbortSignal) => Promise<void>;
}

export interface StateGate {
  /** Empty, or in a sentence why nothing is done. */
  readonly rests: string;
  readonly isPaused: boolean;
  /** The state that daemons are told; undefined: it is gone, or cannot be read. */
  readonly sliced: SlicedRanges | undefined;
  readonly object?: ConfigMap | undefined;
}

type Known = Pick<PhaseFacts, "told" | "pools">;

/** Versions rise by one: a restored copy is never behind by so many changes. */
const farAhead = 1_000_000;

const closed: StateGate = { rests: "the state has not been read yet", isPaused: true, sliced: undefined };

export class StateRound {
  readonly #options: StateRoundOptions;
  #gate: StateGate = closed;
  /** Looks and writes that were begun, and the last of them that counts. */
  #begun = 0;
  #counts = 0;
  /** In this term: every daemon is told something new once, and so says at once what it has. */
  #hasTold = false;
  /** The state has the note of a restore, by the last look of this term. */
  #isNoted = false;
  /** The version of the state that every daemon had seen when the reservation ledger was listed. */
  #listedAt = -1;
  /** In this term: key of a range, whether it is shared again, and its floating part. */
  #settled = new Set<string>();
  /** Lease -> the version that was ignored last, with a line in the log. */
  readonly #ignored = new Map<string, number>();

  constructor(options: StateRoundOptions) {
    this.#options = options;
  }

  get gate(): StateGate {
    return this.#gate;
  }

  async look(signal: AbortSignal): Promise<StateGate> {
    const { client, systemNamespace: namespace } = this.#options;
    const turn = ++this.#begun;
    const object = await fetchState(client, { namespace, signal }).catch((error: unknown) => {
      this.#gate = closed;
      throw error;
    });
    // Two at once: the later one counts.
    if (turn < this.#counts) return this.#gate;
    this.#counts = turn;
    const state = readState(object);
    // The leader before has noticed a restore.
    if (object?.data?.[restoredKey] !== undefined) this.#options.journals.restored();
    const sliced = readSlicedRanges(object);
    return (this.#gate = { rests: restsOf(state), isPaused: state.paused !== "", sliced, object });
  }

  /** Moves ranges on; true if the state was changed. `look` comes first. */
  async move(targets: readonly PoolTarget[], signal: AbortSignal): Promise<boolean> {
    const { sliced: told, rests, isPaused } = this.#gate;
    const { journals } = this.#options;
    let { object } = this.#gate;
    if (object === undefined || isPaused) return false;
    const pools = [...this.#options.overview().blocks()];
    const known = { told, pools, seen: this.#seen() };
    const isBehind = known.seen.some((seen) => (seen ?? 0) > (told?.version ?? 0));
    if (isBehind && told === undefined) journals.lost();
    else if (isBehind) journals.restored();
    const isNoted = object.data?.[restoredKey] !== undefined;
    // Somebody deleted the note, and so knows better.
    if (this.#isNoted && !isNoted) journals.waived();
    this.#isNoted = isNoted;
    if (journals.isAwaiting !== isNoted) object = await this.#note(object, signal);
    // Daemons hand out nothing by an older version. A newer one waits until all could say what the copy has forgotten.
    if (isBehind && told !== undefined && !journals.hasWaited) return false;
    if (rests !== "") {
      if (told === undefined) await this.#write(object, toldAgain(known), signal);
      return told === undefined;
    }
    const facts = { ...known, wanted: await this.#wanted(targets, known, signal) };
    let next = nextSliced({ ...facts, isListed: told !== undefined && this.#listedAt === told.version });
    if (next.needsList) {
      // A node that is back renews its Lease, then reads the state: Leases are read here after the state was written.
      await this.#options.nodes.refresh(signal);
      const seen = this.#seen();
      if (!nextSliced({ ...facts, seen, isListed: false }).needsList) return false;
      await this.#options.reserved.refresh(signal);
      this.#listedAt = told!.version;
      next = nextSliced({ ...facts, isListed: true });
    }
    const unsettled = await this.#settle(next.sliced, targets, signal);
    if (unsettled.size > 0) next = nextSliced({ ...facts, isListed: this.#listedAt === told?.version, unsettled });
    // Before any daemon is told: the state can be made again from the record.
    for (const entry of next.sliced.ranges) {
      const target = targets.find((each) => isOf(entry, each));
      if (target !== undefined) await this.#options.mark(target, entry.phase, signal);
    }
    // Where nothing is cut no daemon is asked for slices.
    const isAsked = !this.#hasTold && next.sliced.ranges.length > 0;
    const isNew = next.sliced !== told || isAsked;
    if (!isNew && writeRefusals(this.#options.overview().refusals()) === (object.data?.[refusedKey] ?? "{}"))
      return false;
    const { version, ranges } = next.sliced;
    await this.#write(object, next.sliced === told && isAsked ? { version: version + 1, ranges } : next.sliced, signal);
    this.#hasTold = ranges.length > 0;
    return true;
  }

  /** Shared pools say who arbitrates before daemons are told to take from them. Answers where that has failed. */
  async #settle({ ranges }: SlicedRanges, targets: readonly PoolTarget[], signal: AbortSignal): Promise<Set<string>> {
    const failed = new Set<string>();
    const due = new Set<string>();
    for (const entry of ranges) {
      const { phase, floating, network, range } = entry;
      const target = targets.find((each) => isOf(entry, each));
      if (target?.sharedDomain === undefined || (phase !== "opening" && floating === undefined)) continue;
      const settling = `${keyOf(entry)} ${phase === "opening"} ${floating ?? ""}`;
      due.add(settling);
      if (this.#settled.has(settling)) continue;
      try {
        await this.#options.settle(target, floating, signal);
        this.#settled.add(settling);
      } catch (error) {
        if (signal.aborted) throw error;
        failed.add(keyOf(entry));
        const what = `who arbitrates what is shared of ${range} is not on record, and nothing more of it is shared; it is tried again`;
        this.#options.log.warn(what, { network, range: String(range), error });
      }
    }
    // A pool may be deleted while nobody takes from it.
    this.#settled = this.#settled.intersection(due);
    return failed;
  }

  /** A leader that begins meanwhile waits for the same nodes, and daemons need not tell of the restore any more. */
  async #note(object: ConfigMap, signal: AbortSignal): Promise<ConfigMap> {
    const { client, journals, clock } = this.#options;
    const { [restoredKey]: _, ...others } = object.data ?? {};
    const data = journals.isAwaiting ? { ...others, [restoredKey]: new Date(clock.wallMs()).toISOString() } : others;
    const written = await client.update(configMaps, { ...object, data }, { signal });
    this.#counts = ++this.#begun;
    this.#gate = { ...this.#gate, object: written };
    this.#isNoted = restoredKey in data;
    return written;
  }

  phaseOf(target: PoolTarget): PoolPhase {
    const { sliced } = this.#gate;
    const entry = sliced?.ranges.find((each) => isOf(each, target));
    // Only when every daemon works by this state, no daemon takes from another floating part.
    const haveSeen = this.#seen().every((seen) => seen === sliced?.version);
    const floatingInUse = entry?.floating === undefined ? [] : [entry.floating];
    return { phase: entry?.phase, floatingInUse: haveSeen ? floatingInUse : undefined };
  }

  /** Versions that daemons with a fresh Lease saw. One far above the told would use up the numbers: it is silence. */
  #seen(): (number | undefined)[] {
    const { nodes, log } = this.#options;
    const { sliced: told } = this.#gate;
    const most = told === undefined ? Number.MAX_SAFE_INTEGER / 2 : told.version + farAhead;
    return [
      ...nodes.seen(({ metadata: { name = "", annotations } }) => {
        const seen = readSeen(annotations?.[seenAnnotation] ?? "");
        if (seen === undefined || seen <= most) return seen;
        const what = `the Lease ${name} names a version of the sliced ranges that was never told; it is ignored`;
        const remedy = `Look at the daemon of that node. If other nodes say the same, the state was restored from an old copy: delete the key ${slicedKey} of the ConfigMap ${stateName}, and it is written anew.`;
        if (this.#ignored.get(name) !== seen) log.error(`${what}. ${remedy}`, { seen, told: told?.version });
        this.#ignored.set(name, seen);
        return undefined;
      }),
    ];
  }

  async #wanted(targets: readonly PoolTarget[], known: Known, signal: AbortSignal): Promise<WantedRange[]> {
    const { told, pools } = known;
    const wanted: WantedRange[] = [];
    const phaseOf = phasesOf(known);
    for (const target of targets) {
      if (!target.wanted || target.refusal !== undefined) continue;
      const { namespace, network, range, name: pool, key } = target;
      const entry = told?.ranges.find((each) => isOf(each, target));
      const planned = this.#options.overview().plan(key);
      const floating = planned === undefined ? entry?.floating : planned.floating;
      const isNew = target.isOriginal && phaseOf(keyOf({ ...target, pool })) === undefined;
      const wasNeverShared = isNew && !(await this.#isShared(target, pools, signal));
      wanted.push({ namespace, network, range, pool, wasNeverShared, floating });
    }
    return wanted;
  }

  /** Asks the server: the informer may not have told a pool that a daemon has just made. */
  async #isShared(target: PoolTarget, pools: readonly PoolBlocks[], signal: AbortSignal): Promise<boolean> {
    const { namespace } = target;
    const opening = pools.filter(({ phase }) => phase === "opening");
    if (isSharedOver(target, opening)) return true;
    const scope = { namespace, labelSelector: `!${sliceLabelName}`, signal };
    const { items } = await this.#options.client.list(ipPools, scope);
    const shared = items.flatMap(({ metadata, spec }) => {
      const range = prefixOf(spec.range);
      if (range === undefined) return [];
      const marked = metadata.annotations?.[networkAnnotation];
      const readings = readPoolName(metadata.name ?? "").map(({ before }) => before);
      // A pool without a mark: of this network by any reading of its name, or one whose name says no network.
      const named = readings.length === 0 ? [target.network] : readings;
      const networks = marked === undefined ? named : [marked];
      return networks.map((network) => ({ namespace, network, range }));
    });
    return isSharedOver(target, shared);
  }

  async #write(object: ConfigMap, sliced: SlicedRanges, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options;
    const refused = writeRefusals(this.#options.overview().refusals());
    const data = { ...object.data, [slicedKey]: writeSlicedRanges(sliced), [refusedKey]: refused };
    const written = await client.update(configMaps, { ...object, data }, { signal });
    this.#counts = ++this.#begun;
    this.#gate = { ...this.#gate, sliced, object: written };
    const ranges = sliced.ranges.map(({ network, range, phase }) => `${network} ${range} ${phase}`.trim());
    log.info("the sliced ranges have changed", { version: sliced.version, ranges });
  }
}

function isOf(entry: SlicedRange, target: PoolTarget): boolean {
  return keyOf(entry) === keyOf({ ...target, pool: target.name });
}
