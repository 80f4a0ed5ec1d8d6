// A daemon as the leader sees it: accepts grants, hands out of them, lends, drains and seals, by docs/decisions/0013.
// Its journal is a map; it promises that two daemons never have one address, which the fixture checks.
import {
  journalAnnotation,
  leaseNodeAnnotation,
  nodeLeaseName,
  readNodeSlices,
  seenAnnotation,
  slicesAnnotation,
  writeJournalSlices,
} from "../../src/api/slices/node-lease.ts";
import {
  blocksOf,
  grantAnnotation,
  nodeWordAnnotation,
  type NodeWord,
  readGrant,
  type SliceGrant,
  sliceLabelName,
  slicedRangeAnnotation,
  slicePoolAnnotation,
  writeGrant,
  writeNodeWord,
} from "../../src/api/slices/slice-grant.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { SlicedRanges } from "../../src/cluster/sliced-ranges.ts";
import type { Clock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { Lease } from "../../src/kube/lease.ts";
import { parseKey } from "../../src/kube/meta.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { type Address, next, plus } from "../../src/net/address.ts";
import { IntervalSet } from "../../src/net/interval-set.ts";
import { intervalOf, parseBlock } from "../../src/net/interval.ts";
import { parsePrefix, Prefix } from "../../src/net/prefix.ts";

export const system = "kube-system";

/** What a daemon needs of the test. */
export interface Fixture {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** `network address` -> who handed it out. */
  readonly held: Map<string, string>;
  sliced(): Promise<SlicedRanges>;
}

interface Slice {
  readonly key: string;
  readonly pool: string;
  readonly network: string;
  readonly range: string;
  readonly block: Prefix;
  grant: SliceGrant;
  isSealed: boolean;
  readonly held: Map<string, Address>;
  moved: string[];
  gives: NonNullable<NodeWord["gives"]> | undefined;
  short: number;
  written: string;
}

const networkName = "holdfast.io/network-name";

export class Daemon {
  readonly name: string;
  isAlive = true;
  /** Another journal is another id. */
  journal = "journal-1";
  readonly slices = new Map<string, Slice>();
  waiting: Readonly<Record<string, string>> = {};
  readonly #fixture: Fixture;
  #renewals = 0;
  #lastRenewedMs = Number.NEGATIVE_INFINITY;

  constructor(fixture: Fixture, name: string) {
    this.#fixture = fixture;
    this.name = name;
  }

  hasFree(pool: string): boolean {
    return [...this.slices.values()].some((slice) => slice.pool === pool && this.#free(slice).count > 0);
  }

  /** Hands out so many; says how many there were. What finds nothing is short. */
  take(pool: string, count: number): number {
    let given = 0;
    const mine = [...this.slices.values()].filter((slice) => slice.pool === pool);
    for (const slice of mine) {
      for (const { first, last } of this.#free(slice)) {
        for (let each: Address | undefined = first; each !== undefined && given < count; each = next(each)) {
          this.#hold(slice, each);
          given += 1;
          if (`${each}` === `${last}`) break;
        }
      }
    }
    for (const slice of mine.filter(({ grant }) => grant.phase === "active")) slice.short = count - given;
    return given;
  }

  releaseAll(pool: string): void {
    for (const slice of this.slices.values()) {
      if (slice.pool !== pool) continue;
      for (const address of slice.held.values()) this.#fixture.held.delete(`${slice.network} ${address}`);
      slice.held.clear();
    }
  }

  /** One look: renew, read the Lease, do what the grants say. */
  async step(): Promise<void> {
    const lease = await this.#renew();
    const { grants, waiting } = readNodeSlices(lease.metadata.annotations?.[slicesAnnotation]);
    this.waiting = waiting;
    for (const key of Object.keys(grants)) await this.#follow(key);
    for (const key of this.slices.keys()) if (grants[key] === undefined) await this.#lost(key);
  }

  /** The machine is wiped: a new journal, and nothing of the old one. */
  reimage(): void {
    this.journal = `${this.journal}'`;
    for (const slice of this.slices.values()) {
      for (const address of slice.held.values()) this.#fixture.held.delete(`${slice.network} ${address}`);
    }
    this.slices.clear();
  }

  async #renew(): Promise<Lease> {
    const { client, clock } = this.#fixture;
    const metadata = { namespace: system, name: nodeLeaseName(this.name) };
    const isDue = clock.monotonicMs() - this.#lastRenewedMs >= 60_000;
    const { version } = await this.#fixture.sliced();
    const there = await client.get(kinds.leases, metadata).catch(() => undefined);
    const { [seenAnnotation]: seen, [journalAnnotation]: said = "" } = there?.metadata.annotations ?? {};
    // What was given up is said at once; what is new with the next renewal.
    const own = this.#journalText();
    const isSeen = seen === `${version}` && said.length <= own.length;
    if (there !== undefined && !isDue && isSeen) return there;
    this.#lastRenewedMs = clock.monotonicMs();
    const spec = {
      holderIdentity: this.journal,
      leaseDurationSeconds: 12 * 3600,
      renewTime: `2026-01-01T00:00:00.${String(this.#renewals++).padStart(6, "0")}Z`,
    };
    const annotations = {
      [leaseNodeAnnotation]: this.name,
      [seenAnnotation]: `${version}`,
      [journalAnnotation]: this.#journalText(),
    };
    if (there === undefined) return client.create(kinds.leases, { metadata: { ...metadata, annotations }, spec });
    return client.patch(kinds.leases, metadata, { type: "merge", body: { metadata: { annotations }, spec } });
  }

  #journalText(): string {
    const own = [...this.slices.values()].filter(({ isSealed }) => !isSealed);
    return writeJournalSlices(
      own.map(({ network, range, pool, block }) => [system, network, range, pool, `${block}`] as const),
    );
  }

  /** As it is in the journal: for an API server that has forgotten it. */
  async makeAgain(): Promise<void> {
    for (const { key, network, range, pool, block, grant } of this.slices.values()) {
      const { namespace, name } = parseKey(key);
      const labels = { [sliceLabelName]: "true", "holdfast.io/node": this.name };
      const annotations = {
        "holdfast.io/node": this.name,
        [networkName]: network,
        [slicePoolAnnotation]: pool,
        [slicedRangeAnnotation]: range,
        [grantAnnotation]: writeGrant(grant),
      };
      const metadata = { namespace: namespace!, name, labels, annotations };
      await this.#fixture.client.create(kinds.ipPools, { metadata, spec: { range: `${block}`, allocations: {} } });
    }
  }

  async #follow(key: string): Promise<void> {
    const object = await this.#fixture.client.get(kinds.ipPools, parseKey(key)).catch((error: unknown) => {
      if (isApiError(error, "not-found")) return undefined;
      throw error;
    });
    const grant = object && readGrant(object.metadata);
    if (object === undefined || grant === undefined) return this.#lost(key);
    const slice = this.#slice(key, object, grant);
    if (grant.serial > slice.grant.serial) slice.short = 0;
    slice.grant = grant;
    const isGiven = blocksOf(grant.without).some((block) => `${block}` === slice.gives?.block);
    if (isGiven) slice.gives = undefined;
    this.#lend(slice);
    if (grant.phase === "draining" && !slice.isSealed) await this.#drain(slice);
    if (grant.phase === "returning" && slice.held.size === 0) slice.isSealed = true;
    await this.#speak(slice);
  }

  /** A grant that the journal does not know: the mirror is read first. */
  #slice(key: string, object: kinds.StoredPool, grant: SliceGrant): Slice {
    const known = this.slices.get(key);
    if (known !== undefined && known.grant.generation === grant.generation) return known;
    const { annotations = {} } = object.metadata;
    const block = parsePrefix(object.spec.range);
    const held = known?.held ?? new Map<string, Address>();
    const slice: Slice = {
      key,
      pool: annotations[slicePoolAnnotation] ?? "",
      network: annotations[networkName] ?? "",
      range: annotations[slicedRangeAnnotation] ?? "",
      block,
      grant,
      isSealed: false,
      held,
      moved: [],
      gives: undefined,
      short: 0,
      written: "",
    };
    this.slices.set(key, slice);
    for (const offset of Object.keys(object.spec.allocations)) this.#hold(slice, plus(block.first, Number(offset))!);
    return slice;
  }

  #hold(slice: Slice, address: Address): void {
    const label = `${slice.network} ${address}`;
    const other = this.#fixture.held.get(label);
    if (other !== undefined && other !== this.name) {
      throw new Error(`${address} is given twice: by ${other} and by ${this.name} out of ${slice.key}.`);
    }
    this.#fixture.held.set(label, this.name);
    slice.held.set(`${address}`, address);
  }

  #free({ block, grant, isSealed, gives, held }: Slice): IntervalSet {
    const free = new IntervalSet();
    if (isSealed || grant.phase !== "active") return free;
    free.add(intervalOf(block));
    for (const each of blocksOf([...grant.without, ...(gives ? [gives.block] : [])])) free.delete(intervalOf(each));
    for (const each of grant.taken) free.delete(parseBlock(each));
    for (const address of held.values()) free.delete({ first: address, last: address });
    return free;
  }

  #lend(slice: Slice): void {
    const { lend, phase } = slice.grant;
    if (lend === undefined || phase !== "active" || slice.gives !== undefined) return;
    const [run] = this.#free(slice);
    if (run !== undefined)
      slice.gives = { ask: lend.ask, block: `${Prefix.around(run.last, slice.block.family === 4 ? 32 : 128)}` };
  }

  /** What is held becomes the reservation ledger's; it is still its owner's. */
  async #drain(slice: Slice): Promise<void> {
    const ledger = new ReservationLedger({
      client: this.#fixture.client,
      namespace: system,
      now: Date.now,
      node: this.name,
    });
    for (const address of slice.held.values()) {
      const owner = {
        kind: "pod",
        namespace: "shop",
        name: `p-${address}`,
        uid: `u-${address}`,
        containerId: "c",
        interface: "net1",
      } as const;
      await ledger.take({ domain: `network:${slice.network}`, address, owner });
      slice.moved.push(`${address}`);
      this.#fixture.held.set(`${slice.network} ${address}`, "the reservation ledger");
    }
    slice.held.clear();
    slice.isSealed = true;
  }

  async #lost(key: string): Promise<void> {
    const slice = this.slices.get(key);
    if (slice === undefined) return;
    // Handed out of no more; what is held stays until its pods go.
    slice.grant = { ...slice.grant, phase: "draining" };
    if (slice.held.size === 0) this.slices.delete(key);
  }

  async #speak(slice: Slice): Promise<void> {
    const free = Number(this.#free(slice).size);
    const word = writeNodeWord({
      journal: this.journal,
      generation: slice.grant.generation,
      serial: slice.grant.serial,
      sealed: slice.isSealed,
      moved: slice.moved,
      ...(slice.gives && { gives: slice.gives }),
      used: slice.held.size,
      free,
      short: slice.short,
    });
    if (word === slice.written) return;
    const body = { metadata: { annotations: { [nodeWordAnnotation]: word } } };
    await this.#fixture.client
      .patch(kinds.ipPools, parseKey(slice.key), { type: "merge", body })
      .catch((error: unknown) => {
        if (!isApiError(error, "not-found")) throw error;
      });
    slice.written = word;
  }
}
