// The node's side of slices (docs/decisions/0013): its Lease, its grants, the mirror of its journal, and whether it may
// hand out at all. Promised: no address is handed out of a slice without an active grant in the journal, nor after the
// node's authority is over, nor, with the API server there, before the slices were compared with it and, after a sleep,
// granted anew by the leader. Not promised: that there is an address; `why` says why not.
import { formatDomain, parseDomain } from "../../api/pools/domain.ts";
import { poolName } from "../../api/pools/pool-name.ts";
import { type NodeSlices, readNodeSlices, sliceUseKey, writeJournalSlices } from "../../api/slices/node-lease.ts";
import type { Pod } from "../../cluster/resources.ts";
import type { SlicedRange } from "../../cluster/sliced-ranges.ts";
import type { Domain, Hold, Ledger } from "../../ipam/ledger.ts";
import type { Cache } from "../../kube/cache/store.ts";
import type { ObjectName } from "../../kube/meta.ts";
import type { JournalGrant } from "../../ledger/journal/grant.ts";
import type { Journal } from "../../ledger/journal/journal.ts";
import type { DaemonOptions } from "../context.ts";
import { Authority, leftMs, type Memory, type Moment } from "./authority.ts";
import { NodeLease } from "./lease.ts";
import { Orphans } from "./orphans.ts";
import { SliceReconciler } from "./reconciler.ts";
import { Shortage } from "./shortage.ts";

/** A whole range, its network_name (empty: none) and the namespace of its pool objects. */
export type SliceUse = Pick<SlicedRange, "namespace" | "network" | "range">;

export interface SliceAgentOptions extends Pick<
  DaemonOptions,
  "client" | "node" | "systemNamespace" | "cooldownMs" | "clock" | "random" | "log"
> {
  readonly journal: Journal;
  /** Of this node's pods. */
  readonly pods: { readonly cache: Cache<Pod>; readonly hasSynced: boolean };
  /** The version of the sliced ranges that no take works against any more. */
  readonly seenVersion: () => number;
  /** The version that the API server told last; `look` tells of changes. Absent: `seenVersion` is always asked. */
  readonly toldVersion?: () => number;
  /** How many daemons there are; 0 or absent: not known. */
  readonly daemons?: () => number;
  /** The API server was restored: the node's writes are older than they were. It calls `restored`. */
  readonly onRestore: () => void;
  /** Since when the leader waits for all nodes after a restore; undefined: it does not. */
  readonly restoreNote: () => string | undefined;
  /** Looks for a restore of the API server if the connection was lost since; then calls `restored`. */
  readonly assure?: (signal: AbortSignal) => Promise<void>;
  /** The ledger of shared addresses of a namespace. */
  readonly ledgerOf: (namespace: string) => Ledger;
  /** A hold of the journal is in the reservation ledger now. */
  readonly onMoved: (namespace: string, hold: Hold) => void;
  /** How long the node hands out without hearing from the API server. Other nodes get its slices after twice that. */
  readonly authorityMs?: number;
  readonly moment: () => Moment;
  readonly memory: Memory;
  readonly tell: (slice: ObjectName, type: "Normal" | "Warning", reason: string, message: string) => void;
  /** The NodeSlicePool of a range without a grant of this node, by the shared state; undefined: there is none. */
  readonly poolOf?: (use: SliceUse) => string | undefined;
  /** In a sentence why the controller grants nothing of a range, whatever happens; undefined: no reason is said. */
  readonly refusalOf?: (use: SliceUse) => string | undefined;
  /** An address of a pod that is gone was freed, and cools down. */
  readonly onOrphan?: (hold: Hold) => void;
  /** How many slices are reconciled at once. Default: one. */
  readonly workers?: number;
}

/**
 * How long after a renewal of its Lease was sent a node may still write into shared ranges, and by how much its wall
 * clock may go back meanwhile. The leader cuts one without a node that it has not seen renew for 240 s
 * (src/cluster/fencing.ts). A write that is decided now may be put off by the server's "later" for 30 s, and one whose
 * answer is lost may be done a minute after it was sent: 120 + 10 + 30 + 60 = 220, and a test adds it up. A renewal is
 * due every 66 s at the latest.
 */
export const waitedFor = { lastsMs: 120_000, slackMs: 10_000 } as const;
/** How long a node says that it woke: the leader gives nodes that a copy has forgotten 80 s to come back. */
const wokeForMs = 90_000;
/** Half a day: a control plane that is away for a night leaves its nodes at work. */
const defaultAuthorityMs = 12 * 3_600_000;

export class SliceAgent {
  readonly journal: Journal;
  readonly #options: SliceAgentOptions;
  readonly #authority: Authority;
  readonly #lease: NodeLease;
  readonly #tending: SliceReconciler;
  readonly #orphans: Orphans;
  readonly #shortage: Shortage;
  #slices: NodeSlices = readNodeSlices(undefined);
  /** The last call to the API server failed. At the start it has not been tried, and counts as there. */
  #isAway = false;
  /** The last renewal of the Lease failed: only then is the journal alone believed, not after other failed calls. */
  #isCutOff = false;
  /** The authority was over, and the slices have not been compared since. */
  #isLapsed = false;
  /** Before the last renewal of the Lease by this process was sent. */
  #renewal: Moment | undefined;
  /** How often the node came back after nobody had waited for it; its start is the first time. */
  returns = 0;
  /** When the Lease was first renewed since the node was asleep; infinite: not yet. */
  #wokeMs = Number.NEGATIVE_INFINITY;
  /** Keys of the slices that the Lease names as this journal's. */
  #reported: ReadonlySet<string> = new Set();
  /** The leader is to be told of a restore: it waits for nodes that the server has forgotten. */
  #isRestored = false;
  /** The note before this restore: of an earlier one. */
  #noteBefore: string | undefined;

  constructor(options: SliceAgentOptions) {
    const { journal, clock, authorityMs = defaultAuthorityMs, moment, memory, log } = options;
    this.journal = journal;
    this.#options = options;
    this.#shortage = new Shortage(clock);
    this.#authority = new Authority({ authorityMs, moment, memory, journal, log });
    this.#tending = new SliceReconciler({
      ...options,
      shortage: this.#shortage,
      isLeaseHeard: () => this.#lease.isHeard,
      hasSaidSo: () => this.#hasSaidSo,
      doubtsNew: () => this.#isWaking || this.#isRestored,
      onAnswer: (isHeard) => void (this.#isAway = !isHeard),
      onCompared: () => void (this.#isLapsed = false),
    });
    this.#orphans = new Orphans({ ...options, isHeard: () => !this.#isAway });
    this.#lease = new NodeLease({
      ...options,
      namespace: options.systemNamespace,
      identity: journal.id,
      authorityMs,
      journalText: () => this.#journalText(),
      renewedMs: () => this.#authority.renewedMs,
      onTry: (at) => {
        const wasAsleep = this.#authority.awake(at);
        if (wasAsleep || (this.#hasLapsed && this.#hasSaidSo)) this.#wakes();
      },
      onOther: () => this.#wakes(),
      onRenewed: (at) => this.#renewed(at),
      onFailed: () => {
        this.#isAway = true;
        this.#isCutOff = true;
      },
      onSlices: (slices) => {
        this.#slices = slices;
        this.#tending.name(slices);
      },
    });
  }

  look(): void {
    this.#lease.look();
  }

  /** The API server was restored: the leader is told at once what the journal has, and each slice is compared anew. */
  restored(): void {
    this.#isRestored = true;
    this.#noteBefore = this.#options.restoreNote();
    this.#lease.restored();
    this.#tending.compareAnew();
  }

  async run(signal: AbortSignal): Promise<void> {
    // Before the authority is known nothing is handed out.
    await this.#holdBackOthers();
    await this.#authority.load();
    // A slice that was given up is nobody's before the Lease says so.
    const unfollow = this.journal.follow(() => {
      const left = new Set(this.#unsealed().map(({ key }) => key));
      if (!this.#reported.isSubsetOf(left)) this.#lease.renewSoon();
    });
    const works = [this.#lease, this.#tending, this.#orphans].map((each) => each.run(signal));
    await Promise.all(works).finally(unfollow);
  }

  /** Undefined: the range is not known to be cut into slices. */
  domainOf(use: SliceUse): Domain | undefined {
    const [grant] = this.#grantsOf(use);
    if (grant !== undefined) return grant.domain;
    const name = this.#options.poolOf?.(use);
    return name === undefined ? undefined : formatDomain({ scope: "slice", namespace: use.namespace, name });
  }

  /** This node's slices are known: from the API server, or, while that is away, from the journal alone. */
  isKnown(): boolean {
    return (this.#lease.isHeard && this.#tending.isCompared) || this.#mayGoOn();
  }

  /** Empty, or in a sentence why no address can be given out of any slice. */
  mayHandOut(): string {
    // A journal that cannot be written says so itself when it is asked, and heals by being asked.
    const over = this.#authority.why();
    if (over !== "") return over;
    if (this.journal.suspect !== "") return this.journal.suspect;
    if (this.#tending.isCompared || this.#mayGoOn()) return "";
    const { trouble } = this.#tending;
    return `the slices of this node are being compared with the API server${trouble && ` (${trouble})`}; try again`;
  }

  /** In a sentence why waiting is no use: the controller refuses the range. Undefined: it does not. */
  refusal(use: SliceUse): string | undefined {
    return this.#grantsOf(use).length > 0 ? undefined : this.#options.refusalOf?.(use);
  }

  /** In a sentence why there is nothing (more) to be had. */
  why(use: SliceUse): string {
    const waiting = this.refusal(use) ?? this.#slices.waiting[sliceUseKey(use)];
    if (waiting !== undefined) return waiting;
    const grants = this.#grantsOf(use);
    const exhausted = grants.map(({ key }) => this.#tending.exhausted(key)).find((each) => each !== "");
    if (exhausted !== undefined) return exhausted;
    const { node } = this.#options;
    if (grants.length === 0) return `node ${node} has no slice of ${use.range} yet; the controller grants it`;
    const blocks = grants.map(({ slice }) => String(slice)).join(", ");
    return `all addresses of ${blocks}, which node ${node} has of ${use.range}, are in use; more is asked for`;
  }

  /** A request found nothing free: the controller is told at once. */
  short(use: SliceUse): void {
    const isNew = this.#shortage.add(sliceUseKey(use));
    if (isNew) for (const { key } of this.#grantsOf(use)) this.#tending.hurry(key);
  }

  /** Resolves when the range has more to hand out, or an address was given back; rejects with the signal's reason. */
  changed(use: SliceUse, signal: AbortSignal): Promise<void> {
    return this.#shortage.grown(sliceUseKey(use), signal);
  }

  /** The leader waits for this node's word before it cuts a range that is shared. By both clocks: it may have slept. */
  get isWaitedFor(): boolean {
    return leftMs(waitedFor.lastsMs, this.#renewal, this.#options.moment(), waitedFor.slackMs) > 0;
  }

  get figures() {
    const grants = this.journal.grants();
    const domains = new Set(grants.map(({ domain }) => domain));
    return {
      slices: grants.length,
      holds: Array.from(this.journal.holds()).length,
      usable: [...domains].reduce((sum, domain) => sum + Number(this.journal.blocksOf(domain).size), 0),
      authorityLeftMs: Math.max(this.#authority.leftMs, 0),
      isAway: this.#isAway,
      ...this.#tending.behind,
      ...this.journal.stats,
    };
  }

  #grantsOf(use: SliceUse): JournalGrant[] {
    const key = sliceUseKey(use);
    return this.journal.grants().filter((each) => sliceUseKey(each) === key);
  }

  #unsealed(): JournalGrant[] {
    return this.journal.grants().filter(({ sealed }) => !sealed);
  }

  #journalText(): string {
    const grants = this.#unsealed();
    this.#reported = new Set(grants.map(({ key }) => key));
    const note = this.#options.restoreNote();
    this.#isRestored &&= note === undefined || note === this.#noteBefore;
    const slices = grants.flatMap(({ domain, namespace, network, range, slice }) => {
      const parts = parseDomain(domain);
      return parts.scope === "slice" ? [[namespace, network, `${range}`, parts.name, `${slice}`] as const] : [];
    });
    return writeJournalSlices(slices, { restored: this.#isRestored, woke: this.#isWaking });
  }

  /** While its authority was over the slices may have become other nodes'. */
  get #hasLapsed(): boolean {
    return this.#authority.leftMs <= 0 && this.journal.grants().length > 0;
  }

  /** The Lease says that the node woke, or it was not asleep. */
  get #hasSaidSo(): boolean {
    return this.#wokeMs !== Number.POSITIVE_INFINITY;
  }

  get #isWaking(): boolean {
    return this.#options.clock.monotonicMs() - this.#wokeMs < wokeForMs;
  }

  /**
   * Its slices may be another's, and the API server may have been restored since to a copy that does not know it: each
   * is held back until the leader has granted it anew, which it does not before it has heard the other nodes.
   */
  #wakes(): void {
    this.#wokeMs = Number.POSITIVE_INFINITY;
    this.#tending.doubt();
  }

  /** The API server is away, and the journal alone may be believed. */
  #mayGoOn(): boolean {
    return this.#isCutOff && !this.#isLapsed && this.#authority.leftMs > 0;
  }

  /** Another node's slices, on a copied disk or after a renaming: held back until the API server says they are ours. */
  async #holdBackOthers(): Promise<void> {
    const { node, log } = this.#options;
    for (const grant of this.journal.grants()) {
      const { key, namespace, network, slice, phase, sealed } = grant;
      const isOwn = key === `${namespace}/${poolName({ range: slice, network, node })}`;
      if (isOwn || sealed || phase !== "active") continue;
      log.warn("the journal has a slice of another node: nothing is handed out of it", { slice: key, node });
      await this.journal.put({ ...grant, phase: "returning" });
    }
  }

  async #renewed(at: Moment): Promise<void> {
    if (!this.isWaitedFor) this.returns += 1;
    this.#renewal = at;
    this.#isLapsed ||= this.#hasLapsed;
    if (!this.#hasSaidSo) {
      this.#wokeMs = this.#options.clock.monotonicMs();
      this.#tending.compareAnew();
    }
    this.#isAway = false;
    this.#isCutOff = false;
    this.#tending.resume();
    await this.#authority.renewed(at);
  }
}
