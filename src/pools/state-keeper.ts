// Keeps the shared state: carries out the operator's word on coexistence, adopts pools, and tells daemons by
// `holdfast-state`. Signs of whereabouts decide where there is no word yet; afterwards they are told, and change
// nothing. Promised: while it is paused nothing is done; `paused` is left as it is; the write is guarded by
// resourceVersion, so a pause that comes meanwhile is not undone; a look that failed changes nothing. Until the first
// look ends the word of the leader before counts, as daemons act on it; without one, coexistence counts as on, and
// reconcilers that act by it wait (`known`): marks of coexistence on our own holds would decide the word. Pools change
// after the word is written.
import { keptFinalizer } from "../api/holds/hold-marks.ts";
import type { IPPool } from "../api/pools/ip-pool.ts";
import { isAdopted } from "../api/pools/pool-domain.ts";
import { seenAnnotation } from "../api/slices/node-lease.ts";
import * as state from "../cluster/coexistence-word.ts";
import { nodeOfLease } from "../cluster/fencing.ts";
import type { ConfigMap } from "../cluster/resources.ts";
import { fetchState, saveState } from "../cluster/state.ts";
import { orAborted } from "../kube/abort.ts";
import { keyOf } from "../kube/meta.ts";
import { unless } from "../kube/unless.ts";
import { disownPools } from "../ledger/adoption/adoption.ts";
import { detectUpstream, type Upstream, whyNotMoved } from "../ledger/coexistence/upstream.ts";
import { adopt } from "./adopter.ts";
import { bareHolds } from "./coexistence/finalizers.ts";
import { firstWord, type Memory, nextCoexistence, unseenWords } from "./coexistence/verdict.ts";
import { hasForeign, planMirror } from "./mirror/mirror.ts";
import type { NetworkUse } from "./networks.ts";
import type { PoolHold } from "./pool-hold.ts";
import { everyRound, type Work } from "./rounds.ts";

export interface StateKeeperOptions extends Work {
  readonly systemNamespace: string;
  /** Undefined: not known yet, and nothing is adopted before, since the networks say in which domain. */
  readonly uses: () => readonly NetworkUse[] | undefined;
  readonly onChange?: (coexistence: boolean) => void;
  /** Where pools are that no definition has for itself: said before anything is done there. */
  readonly onPlace?: (namespace: string) => void;
  /** Signs of whereabouts that coexistence is not on for; none: no more. */
  readonly onStray?: (signs: readonly string[]) => void;
  /** It was decided that coexistence stays on, without a sign of whereabouts: what that means, and how it ends. */
  readonly onUnseen?: (words: string) => void;
  readonly lookBackMs?: number;
  readonly whereaboutsNamespaces?: readonly string[];
}

const every = { what: "looking at the shared state", ms: 10_000 };
/** Looking for whereabouts reads all of its pools; entries that it writes are seen sooner, by following them. */
const detectMs = 60_000;
/** Looks: the mirror drops within seconds what nothing holds any more. */
const patience = 2;

type Data = Record<string, string>;

export class StateKeeper {
  readonly #options: StateKeeperOptions;
  #memory: Memory = { silentSinceMs: undefined };
  #coexistence = true;
  /** Where pools are: read once in a term, and changed by this leader alone. A lost or edited key is written again. */
  #namespace: string;
  #isPlaced = false;
  #hasBegun = false;
  readonly #known = Promise.withResolvers<void>();
  /** namespace/name of a pool -> looks in a row at which the mirror may have been behind. */
  readonly #waits = new Map<string, number>();
  #detected: { readonly ms: number; readonly signs: Upstream } | undefined;
  /** Read or decided last: it outlives the object. */
  #word: state.Word | undefined;
  #isStray = false;

  constructor(options: StateKeeperOptions) {
    this.#options = options;
    this.#namespace = options.systemNamespace;
  }

  get coexistence(): boolean {
    return this.#coexistence;
  }

  /** Until a word is in force: who acts before takes whereabouts for active, and leaves marks that would decide it. */
  async known(signal: AbortSignal): Promise<void> {
    await orAborted(this.#known.promise, signal);
  }

  run(signal: AbortSignal): Promise<void> {
    return everyRound(this.#options, every, signal, () => this.look(signal));
  }

  async look(signal: AbortSignal): Promise<void> {
    const { caches, client, clock, log, systemNamespace } = this.#options;
    const object = await fetchState(client, { namespace: systemNamespace, signal });
    const current = state.inForce(object);
    if (!this.#isPlaced && object !== undefined) this.#place(state.poolNamespaceOf(object, systemNamespace));
    this.#options.onPlace?.(this.#namespace);
    const paused = object?.data?.["paused"] ?? "";
    const said = state.readWord(object);
    if (current === false || (current === true && said !== undefined)) {
      if (!this.#hasBegun) this.#tell(current, "");
      this.#known.resolve();
    }
    if (paused !== "") {
      // Pools are being moved: none is touched, and what was seen before proves nothing afterwards.
      this.#memory = { silentSinceMs: undefined };
      this.#detected = undefined;
      return this.#tell(current !== false, "");
    }
    const upstream = await this.#signs(current === false, signal);
    const word = said ?? this.#word ?? this.#decide(current, upstream);
    if (typeof word === "string") {
      await this.#write(object, { coexistence: "undecided", why: word, paused }, signal);
      return;
    }
    this.#word = word;
    const moving = await this.#moving(object, word, signal);
    if (moving !== undefined) {
      await this.#write(object, moving, signal);
      return;
    }
    let stored = object;
    /** False: another has made the state meanwhile; the next look reads it. */
    const record = async () => (stored = await this.#write(stored, state.wordData(word), signal)) !== undefined;
    // Some pool is adopted, perhaps from before whereabouts handed out of it: a new leader cannot know.
    const mayBeOld = word.word === "on" || (current !== false && (upstream.active || !this.#hasBegun));
    const isMarked = mayBeOld && [...caches.pools.cache.list()].some(isAdopted);
    if (isMarked && !(await record())) return;
    const disowned = isMarked ? await disownPools(client, { signal }) : 0;
    if (disowned > 0) log.info("pools will be adopted anew when coexistence ends", { count: disowned });
    this.#hasBegun = true;
    // What was disowned shows in the cache a moment later: the rest is for the next look.
    if (disowned > 0 && word.word === "off") return;
    const unshown = word.word === "on" && !(current === true && object?.data?.["why"] === "") ? this.#unshown() : 0;
    const input = { word: word.word, current, upstream, unshown, nowMs: clock.monotonicMs() };
    const unadopted = this.#unadopted().length;
    let verdict = nextCoexistence(this.#memory, { ...input, unadopted });
    if (verdict.mayAdopt && unadopted > 0) {
      if (!(await record())) return;
      const left = await this.#adoptAll(signal);
      verdict = nextCoexistence(verdict.memory, { ...input, unadopted: left });
    }
    this.#memory = verdict.memory;
    const { coexistence, why } = verdict;
    this.#tell(coexistence, why);
    this.#warn(coexistence, upstream);
    const data = { ...state.wordData(word), coexistence: coexistence ? "on" : "off", why, paused };
    const next = coexistence && current !== true ? state.begun({ ...stored?.data, ...data }) : data;
    if ((await this.#write(stored, next, signal)) !== undefined) this.#known.resolve();
  }

  #decide(current: boolean | undefined, upstream: Upstream): state.Word | string {
    const { systemNamespace, caches, uses, log, onUnseen } = this.#options;
    const ofDefinitions = uses()?.filter(({ config }) => config.poolNamespace === "nad");
    const own = new Set(ofDefinitions?.map(({ namespace }) => namespace));
    const namespaces = new Set(Array.from(caches.pools.cache.list(), ({ metadata }) => metadata.namespace ?? ""));
    const poolsElsewhere = [...namespaces].filter((each) => each !== systemNamespace && !own.has(each));
    const hasKept = [...caches.reservations.cache.list()].some(
      ({ metadata: { namespace, finalizers } }) => namespace === systemNamespace && finalizers?.includes(keptFinalizer),
    );
    const word = firstWord({ systemNamespace, poolsElsewhere, current, upstream, hasKept });
    if (typeof word !== "string" && word.word === "on" && !upstream.active) {
      log.warn("coexistence stays on, and whereabouts was not seen", { why: unseenWords });
      onUnseen?.(unseenWords);
    }
    return word;
  }

  /** What was seen of whereabouts was seen in the namespace before. */
  #place(namespace: string): void {
    this.#isPlaced = true;
    this.#namespace = namespace;
    this.#detected = undefined;
    this.#options.onPlace?.(namespace);
  }

  /** With what says where pools are: daemons believe another place only by a newer version of the sliced ranges. */
  #placed(object: ConfigMap | undefined, data: Data): Data {
    const namespace = this.#namespace === this.#options.systemNamespace ? "" : this.#namespace;
    // Never said where it was never another: a state from before a move must not say it.
    if ((object?.data?.[state.poolNamespaceKey] ?? "") === namespace) return data;
    return state.begun({ ...object?.data, ...data, [state.poolNamespaceKey]: namespace });
  }

  /**
   * What to write where the word names another namespace; undefined: nothing. Daemons of the old and of the new one
   * would be two ledgers: nothing is handed out until each daemon heard of knows it, nor while the old one has
   * anything.
   */
  async #moving(object: ConfigMap | undefined, word: state.Word, signal: AbortSignal): Promise<Data | undefined> {
    const { client, caches } = this.#options;
    const current = state.inForce(object);
    const to = word.namespace ?? this.#namespace;
    if (to === this.#namespace) return undefined;
    const data = { ...state.wordData(word), paused: object?.data?.["paused"] ?? "" };
    const since = state.begunAt(object);
    // Before the list: what a daemon made that did not know yet is in it.
    const unaware = [...caches.leases.cache.list()].flatMap((lease) => {
      const node = nodeOfLease(lease);
      const isBehind = Number(lease.metadata.annotations?.[seenAnnotation] ?? -1) < since;
      return node !== undefined && isBehind && caches.presence.isFresh(node) ? [node] : [];
    });
    const why = await whyNotMoved(client, { from: this.#namespace, to, signal });
    if (why !== undefined) return { ...data, ...(current === undefined && { coexistence: "undecided" }), why };
    const waits = (names: readonly string[]) =>
      `pools go to the namespace ${to}: daemons do not know yet that they hand out nothing${names.length > 0 ? `: ${names.join(", ")}` : ""}`;
    if (current !== undefined)
      return state.begun({ ...object?.data, ...data, coexistence: "undecided", why: waits([]) });
    if (since > 0 && unaware.length > 0) return { ...data, coexistence: "undecided", why: waits(unaware) };
    // The next look looks for whereabouts there.
    this.#place(to);
    return { ...data, coexistence: "undecided", why: `pools are in the namespace ${to} from now on` };
  }

  /** What is stored then; undefined: another has made it meanwhile, and the next look reads it. */
  async #write(object: ConfigMap | undefined, next: Data, signal: AbortSignal): Promise<ConfigMap | undefined> {
    const { client, systemNamespace: namespace } = this.#options;
    const data = this.#placed(object, next);
    const isSaid = Object.entries(data).every(([key, value]) => object?.data?.[key] === value);
    if (object !== undefined && isSaid) return object;
    return unless(["already-exists"], saveState(client, { namespace, signal }, object, data));
  }

  /** Entries of others in an adopted pool are a sign too: after an adoption only whereabouts makes such. */
  async #signs(isOff: boolean, signal: AbortSignal): Promise<Upstream> {
    const found = await this.#detect(signal);
    const strange = isOff ? this.#unadopted().filter(isAdopted) : [];
    if (strange.length === 0) return found;
    const names = strange.map(({ metadata }) => metadata.name).join(", ");
    const why = [...found.why, `Somebody else wrote entries into ${names}, which is adopted.`];
    return { ...found, active: true, why };
  }

  async #detect(signal: AbortSignal): Promise<Upstream> {
    const { client, clock, systemNamespace, lookBackMs, whereaboutsNamespaces: namespaces } = this.#options;
    const ms = clock.monotonicMs();
    if (this.#detected !== undefined && ms - this.#detected.ms < detectMs) return this.#detected.signs;
    const given = { ...(lookBackMs !== undefined && { lookBackMs }), ...(namespaces && { namespaces }) };
    const place = { systemNamespace, poolNamespace: this.#namespace };
    const signs = await detectUpstream(client, { ...place, ...given, now: () => clock.wallMs(), signal });
    this.#detected = { ms, signs };
    return signs;
  }

  /** Said once, when it begins: it changes nothing. */
  #warn(isOn: boolean, { active, why, elsewhere }: Upstream): void {
    const { log, onStray } = this.#options;
    const strays = elsewhere.map(({ workload, namespace }) => `${workload} runs whereabouts in ${namespace}.`);
    const signs = isOn ? strays : [...(active ? why : []), ...strays];
    const isNew = signs.length > 0 !== this.#isStray;
    this.#isStray = signs.length > 0;
    if (!isNew) return;
    if (this.#isStray) log.error("whereabouts writes, and coexistence is not on for it", { why: signs.join(" ") });
    onStray?.(signs);
  }

  /** Every pool that can be read, and what is held of it; what cools down is nobody's. */
  #pools(): { readonly pool: IPPool; readonly held: readonly PoolHold[] }[] {
    const { caches } = this.#options;
    caches.refreshPools();
    return [...caches.pools.cache.keys()].flatMap((key) => {
      const pool = caches.pool(key);
      const held = caches.holdsByPool.of(key).filter(({ cooling }) => cooling === undefined);
      return pool === undefined ? [] : [{ pool, held }];
    });
  }

  /** Holds that whereabouts could give again: without an entry in their pool, a finalizer or a second name. */
  #unshown(): number {
    const changes = this.#pools().flatMap(({ pool, held }) => planMirror(pool, held, { coexistence: true }).changes);
    const entries = changes.filter(({ from, to }) => from === undefined && to !== undefined).length;
    return Math.max(entries, bareHolds(this.#options.caches).length);
  }

  /** Pools that are not marked, or have entries without a hold. */
  #unadopted(): IPPool[] {
    const left = this.#pools().filter(({ pool, held }) => !isAdopted(pool) || hasForeign(pool, held));
    return left.map(({ pool }) => pool);
  }

  /** How many are left. */
  async #adoptAll(signal: AbortSignal): Promise<number> {
    const { client, clock, log, uses, isPaused, caches } = this.#options;
    const known = uses();
    if (known === undefined) return this.#unadopted().length;
    let left = 0;
    for (const pool of this.#unadopted()) {
      // A pause that came meanwhile: the rest waits for its end.
      if ((await isPaused?.(signal)) === true) return left + 1;
      try {
        const key = keyOf(pool);
        const looks = this.#waits.get(key) ?? 0;
        const options = { client, now: () => clock.wallMs(), log, pools: caches.holdsByPool.pools };
        const { isDone, waits } = await adopt({ ...options, patient: looks < patience }, pool, known, signal);
        if (waits) this.#waits.set(key, looks + 1);
        else this.#waits.delete(key);
        if (!isDone) left += 1;
      } catch (error) {
        // One that somebody fights over must not keep the leader from the others, nor from seeing whereabouts.
        if (signal.aborted) throw error;
        log.warn("a pool could not be adopted; it is tried again", { pool: pool.metadata.name, error });
        left += 1;
      }
    }
    return left;
  }

  #tell(coexistence: boolean, why: string): void {
    if (this.#coexistence === coexistence) return;
    this.#coexistence = coexistence;
    this.#options.log.info(`coexistence is ${coexistence ? "on" : "off"}`, { why });
    this.#options.onChange?.(coexistence);
  }
}
