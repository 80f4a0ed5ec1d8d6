// Carries out one move: claim, holds, marks. Promised: every write is guarded by what was read; a NIC's addresses move
// all or none, a failure is undone; a held address is never nobody's: before its claim goes, the living owner is noted.
// Not promised: that a new claim goes again (the leader would make it), or a lost answer's fate: the next call goes on.
import { claimFinalizer, claimOwnerAnnotation, overrideAnnotation } from "../../api/claims/claim-marks.ts";
import { ensurePool } from "../../cluster/pool-object.ts";
import { ipamClaims, type StoredClaim } from "../../cluster/resources.ts";
import * as ledger from "../../ipam/ledger.ts";
import { describeOwner, ownerKey } from "../../ipam/owner.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import { isApiError } from "../../kube/errors.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import type { Address } from "../../net/address.ts";
import { CodedError } from "../../net/coded-error.ts";
import type { LedgerPlace } from "../leader/ledger-place.ts";
import type { MetadataPatch } from "../plan/steps.ts";
import { claimOwner, describeClaim, type Move } from "./move.ts";

export interface PerformOptions {
  readonly client: KubeClient;
  /** Of the namespace of the objects. */
  readonly ledgerOf: (namespace: string) => ledger.AmendableLedger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type Performed =
  | { readonly outcome: "done"; readonly claim: StoredClaim; readonly addresses: readonly string[] }
  /** `changed`: somebody wrote meanwhile; look and plan again. `refused`: it will not be otherwise in a moment. */
  | { readonly outcome: "changed" | "refused"; readonly why: string };

class Stopped extends CodedError<"changed" | "refused"> {}

interface Done {
  readonly hold: ledger.Hold;
  undo(): Promise<unknown>;
}

export async function perform(move: Move, options: PerformOptions): Promise<Performed> {
  const { signal } = options;
  const passing = move.pass.map((each) => new Passing(each, options));
  const taken: Done[] = [];
  let marked: StoredClaim | undefined;
  try {
    // Nothing but its note keeps an address whose claim is gone or goes: a leader may be about to free it.
    const isMade = move.claim.kind === "create" || move.claim.kind === "replace";
    if (isMade) for (const each of passing) await each.note(move, signal);
    const made = await claimFor(move, options);
    if (move.first === "claim") marked = await mark(move, made, options);
    for (const each of passing) await each.pass(move, marked ?? made, signal);
    for (const each of move.take) taken.push(await take(move, marked ?? made, each, options));
    const claim = marked ?? (await mark(move, made, options));
    return { outcome: "done", claim, addresses: [...passing, ...taken].map(({ hold }) => `${hold.address}`) };
  } catch (error) {
    // A leader does with an address that is already the new owner's what we would do: the next plan sees the rest.
    const isChanged = error instanceof Stopped && error.code === "changed";
    if (!isChanged || move.first === "holds") {
      for (const each of [...passing, ...taken].toReversed()) await each.undo();
      if (marked !== undefined) await unmark(move, marked, options);
    }
    if (error instanceof Stopped) return { outcome: error.code, why: error.message };
    throw error;
  }
}

/** A claim that is gone is not waited for longer: what keeps it was named when it was planned. */
const goneTries = 50;
const goneEveryMs = 100;

async function claimFor({ claim }: Move, options: PerformOptions): Promise<StoredClaim> {
  const { client, signal } = options;
  if (claim.kind === "none" || claim.kind === "mark") return claim.claim;
  if (claim.kind === "replace") {
    const finalizers = (claim.old.metadata.finalizers ?? []).filter((each) => each !== claimFinalizer);
    await changedMeanwhile(claim.old, patch(claim.old, { finalizers }, options, signal));
    await untilGone(claim.old, options);
  }
  const { metadata } = claim.object;
  const annotations = { ...metadata.annotations, ...overriding(options) };
  const object = { ...claim.object, metadata: { ...metadata, annotations } };
  return changedMeanwhile(object, client.create(ipamClaims, object, { signal }));
}

/** The override that the webhook, if installed, asks of anybody but the controller: anew each time. */
function overriding({ clock }: PerformOptions): Readonly<Record<string, string>> {
  return { [overrideAnnotation]: `given to its owner by hand, ${new Date(clock.wallMs()).toISOString()}` };
}

/** At the version that was read. */
function patch({ metadata }: StoredClaim, change: MetadataPatch, options: PerformOptions, signal?: AbortSignal) {
  const { namespace = "", name = "", uid, resourceVersion } = metadata;
  const annotations = { ...change.annotations, ...overriding(options) };
  const body = { metadata: { ...change, annotations, uid, resourceVersion } };
  return options.client.patch(ipamClaims, { namespace, name }, { type: "merge", body }, { signal });
}

async function untilGone(old: StoredClaim, { client, clock, signal }: PerformOptions): Promise<void> {
  const { namespace = "", name = "", uid } = old.metadata;
  for (let tries = 0; tries < goneTries; tries++) {
    if ((await client.lookUp(ipamClaims, { namespace, name }, { signal }))?.metadata.uid !== uid) return;
    if (!(await sleep(clock, goneEveryMs, signal))) signal.throwIfAborted();
  }
  throw new Stopped("refused", `${describeClaim(old)} is being deleted and does not go: see its finalizers`);
}

/** One write: whose it is, our finalizer there, theirs gone. */
async function mark({ claim }: Move, made: StoredClaim, options: PerformOptions): Promise<StoredClaim> {
  if (claim.kind !== "mark") return made;
  return changedMeanwhile(claim.claim, patch(claim.claim, claim.metadata, options, options.signal));
}

/** Others write a claim's status and marks all the while; each time that happens it is read again. */
const unmarkTries = 8;

/** As it was, unless it is another's again or gone. */
async function unmark({ claim }: Move, marked: StoredClaim, options: PerformOptions): Promise<void> {
  if (claim.kind !== "mark") return;
  const { namespace = "", name = "", uid, annotations } = marked.metadata;
  const owner = annotations?.[claimOwnerAnnotation];
  for (let tries = 0; tries < unmarkTries; tries++) {
    const now = await options.client.lookUp(ipamClaims, { namespace, name });
    if (now === undefined || now.metadata.uid !== uid) return;
    if (now.metadata.annotations?.[claimOwnerAnnotation] !== owner) return;
    if (
      (await unless(["conflict", "not-found"], patch(now, before(claim.claim, claim.metadata), options))) !== undefined
    )
      return;
  }
}

function before({ metadata }: StoredClaim, { labels = {}, annotations = {} }: MetadataPatch): MetadataPatch {
  const old = (keys: object, values: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(Object.keys(keys).map((key) => [key, values[key] ?? null]));
  return {
    labels: old(labels, metadata.labels),
    annotations: old(annotations, metadata.annotations),
    ownerReferences: metadata.ownerReferences ?? [],
    finalizers: metadata.finalizers ?? [],
  };
}

async function changedMeanwhile<T>(claim: StoredClaim, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (!isApiError(error, "conflict", "not-found", "already-exists", "invalid")) throw error;
    throw new Stopped("changed", `${describeClaim(claim)} has changed: ${error.message}`);
  }
}

/** A hold that goes from one owner to another in guarded steps, and back in one. */
class Passing implements Done {
  readonly #ledger: ledger.AmendableLedger;
  readonly #part: number;
  readonly #before: ledger.Hold;
  #hold: ledger.Hold;

  constructor({ held, part }: Move["pass"][number], { ledgerOf }: PerformOptions) {
    this.#ledger = ledgerOf(held.namespace);
    this.#part = part;
    this.#before = held.hold;
    this.#hold = held.hold;
  }

  get hold(): ledger.Hold {
    return this.#hold;
  }

  /** Whose it is to be, before it is: from then on a leader keeps it for that owner. */
  note({ note }: Move, signal: AbortSignal): Promise<void> {
    return this.#change({ note: this.#noted(note) }, signal);
  }

  pass({ note, users }: Move, claim: StoredClaim, signal: AbortSignal): Promise<void> {
    const to = claimOwner(claim, this.#part);
    return this.#change({ to, note: this.#noted(note), users: joined(this.#hold.users, users) }, signal);
  }

  async undo(): Promise<void> {
    const { owner, users = [], note = {}, version } = this.#before;
    if (this.#hold.version === version) return;
    await this.#amend({ to: owner, users, note });
  }

  #noted(note: ledger.HoldNote): ledger.HoldNote {
    const { pool, mac } = this.#before.note ?? {};
    return { ...note, ...(pool !== undefined && { pool }), ...(mac !== undefined && { mac }) };
  }

  async #change(change: Change, signal: AbortSignal): Promise<void> {
    const result = await this.#amend(change, signal);
    if (result.outcome !== "amended") throw new Stopped("changed", `the hold of ${this.#hold.address} has changed`);
    this.#hold = result.hold;
  }

  #amend(change: Change, signal?: AbortSignal) {
    const { domain, address, owner, version } = this.#hold;
    const request = { domain, address, owner: ownerKey(owner), version, ...change };
    return this.#ledger.amend(request, signal === undefined ? {} : { signal });
  }
}

type Change = Pick<ledger.AmendRequest, "to" | "note" | "users">;

function joined(some: readonly ledger.HoldUser[] = [], more: readonly ledger.HoldUser[]): ledger.HoldUser[] {
  return [...some, ...more.filter(({ uid }) => !some.some((each) => each.uid === uid))];
}

async function take(
  { note, users }: Move,
  claim: StoredClaim,
  { place, address }: Move["take"][number],
  options: PerformOptions,
): Promise<Done> {
  const { ledgerOf, signal } = options;
  const { domain, pool } = await poolFor(place, address, options);
  const book = ledgerOf(place.namespace);
  const owner = claimOwner(claim, place.part);
  const request = { domain, address, owner, note: { ...note, pool }, users, early: true };
  const result = await book.take(request, { signal });
  if (result.outcome === "held") {
    throw new Stopped(
      "refused",
      `${address} is held for ${describeOwner(result.hold.owner)} meanwhile: one address cannot be two owners'`,
    );
  }
  if (result.outcome === "cooling") throw new Stopped("changed", `${address} was just released`);
  const { hold, outcome } = result;
  const release = { domain, address, owner: ownerKey(owner), version: hold.version, cooldownMs: 0 };
  return { hold, undo: async () => (outcome === "taken" ? book.release(release) : undefined) };
}

/** whereabouts' entries in a pool that is not adopted yet have no hold: they would not be seen. */
async function poolFor(place: LedgerPlace, address: Address, { client, signal }: PerformOptions) {
  const { namespace, identity, naming, l3, domain } = place;
  const found = await ensurePool(client, { namespace, identity, naming, l3, domain, signal });
  const pool = `${found.namespace}/${found.name}`;
  if (found.domain !== undefined && found.domain !== domain) {
    throw new Stopped("changed", `IPPool ${pool} is handed out in ${ledger.describeDomain(found.domain)} now`);
  }
  const entries = [found.object, ...found.others].some(({ spec }) => Object.keys(spec.allocations).length > 0);
  if (!found.adopted && entries) {
    throw new Stopped(
      "refused",
      `IPPool ${pool} is not adopted yet, so ${address} may be somebody's: start \`holdfast controller\` and wait until it is`,
    );
  }
  return { domain, pool };
}
