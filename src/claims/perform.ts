// Carries out one move: the claim, its holds, its marks. Every write is guarded by what was read.
//
// Promised: the addresses of a NIC move all or none; what was written before a failure is taken back, guarded as well. At no moment is an
// address that was held nobody's. Not promised: that a claim which had to be made goes again (the leader would make the same); and what
// became of a write whose answer was lost. Whoever calls again finds what is there, and goes on.
import { claimFinalizer, claimOwnerAnnotation, overrideAnnotation } from "../api/claim-marks.ts";
import type { AmendableLedger, Hold, HoldUser } from "../ipam/ledger.ts";
import { describeOwner, ownerKey } from "../ipam/owner.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import type { KubeClient } from "../kube/rest.ts";
import { ensurePool } from "../ledger/pool-object.ts";
import { ipamClaims, type StoredClaim } from "../ledger/resources.ts";
import type { Address } from "../net/address.ts";
import { claimOwner, describeClaim, type Move } from "./move.ts";
import type { Place } from "./place.ts";
import type { MetadataPatch } from "./plan/steps.ts";

export interface PerformOptions {
  readonly client: KubeClient;
  /** Of the namespace of the objects. */
  readonly ledgerOf: (namespace: string) => AmendableLedger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type Performed =
  | { readonly outcome: "done"; readonly claim: StoredClaim; readonly addresses: readonly string[] }
  /** Somebody wrote meanwhile: look and plan again. */
  | { readonly outcome: "changed"; readonly why: string }
  /** It will not be otherwise in a moment. */
  | { readonly outcome: "refused"; readonly why: string };

/** A way back, and the hold as it is now. */
interface Done {
  readonly hold: Hold;
  undo(): Promise<unknown>;
}

class Stopped extends Error {
  readonly outcome: "changed" | "refused";

  constructor(outcome: "changed" | "refused", why: string) {
    super(why);
    this.outcome = outcome;
  }
}

export async function perform(move: Move, options: PerformOptions): Promise<Performed> {
  const done: Done[] = [];
  let marked: StoredClaim | undefined;
  try {
    const made = await claimFor(move, options);
    if (move.first === "claim") marked = await mark(move, made, options);
    for (const each of move.pass) done.push(await pass(move, marked ?? made, each, options));
    for (const each of move.take) done.push(await take(move, marked ?? made, each, options));
    const claim = marked ?? (await mark(move, made, options));
    return { outcome: "done", claim, addresses: done.map(({ hold }) => `${hold.address}`) };
  } catch (error) {
    // What a leader did with a claim that is the new owner's already is what we would have done: the next plan sees the rest.
    const isHalf = marked !== undefined && error instanceof Stopped && error.outcome === "changed";
    if (!isHalf) await takeBack(move, done, marked, options);
    if (error instanceof Stopped) return { outcome: error.outcome, why: error.message };
    throw error;
  }
}

async function takeBack(move: Move, done: readonly Done[], marked: StoredClaim | undefined, options: PerformOptions) {
  for (const each of done.toReversed()) await each.undo();
  if (marked !== undefined) await unmark(move, marked, options);
}

/** A claim that is gone is not waited for longer: what keeps it was named when it was planned. */
const goneTries = 50;
const goneEveryMs = 100;

async function claimFor({ claim }: Move, options: PerformOptions): Promise<StoredClaim> {
  const { client, signal } = options;
  if (claim.change === "none" || claim.change === "mark") return claim.claim;
  if (claim.change === "replace") {
    await changedMeanwhile(claim.old, letGo(claim.old, options));
    await untilGone(claim.old, options);
  }
  const { metadata } = claim.object;
  const annotations = { ...metadata.annotations, ...overriding(options) };
  const object = { ...claim.object, metadata: { ...metadata, annotations } };
  return changedMeanwhile(object, client.create(ipamClaims, object, { signal }));
}

/** What the webhook, where it is installed, asks for of whoever is not the controller: that he says so, each time anew. */
function overriding({ clock }: PerformOptions): Readonly<Record<string, string>> {
  return { [overrideAnnotation]: `given to its owner by hand, ${new Date(clock.wallMs()).toISOString()}` };
}

async function letGo({ metadata }: StoredClaim, options: PerformOptions): Promise<void> {
  const { namespace = "", name = "", uid, resourceVersion } = metadata;
  const finalizers = (metadata.finalizers ?? []).filter((each) => each !== claimFinalizer);
  const body = { metadata: { uid, resourceVersion, finalizers, annotations: overriding(options) } };
  const { client, signal } = options;
  await client.patch(ipamClaims, { namespace, name }, { type: "merge", body }, { signal });
}

async function untilGone(old: StoredClaim, { client, clock, signal }: PerformOptions): Promise<void> {
  const { namespace = "", name = "", uid } = old.metadata;
  for (let tries = 0; tries < goneTries; tries++) {
    try {
      if ((await client.get(ipamClaims, { namespace, name }, { signal })).metadata.uid !== uid) return;
    } catch (error) {
      if (isApiError(error, "not-found")) return;
      throw error;
    }
    if (!(await sleep(clock, goneEveryMs, signal))) signal.throwIfAborted();
  }
  throw new Stopped("refused", `${describeClaim(old)} is being deleted and does not go: see its finalizers`);
}

async function pass(
  { note, users }: Move,
  claim: StoredClaim,
  { held, part }: Move["pass"][number],
  { ledgerOf, signal }: PerformOptions,
): Promise<Done> {
  const ledger = ledgerOf(held.namespace);
  const { hold } = held;
  const { domain, address, owner, version } = hold;
  const to = claimOwner(claim, part);
  const pool = hold.note?.pool;
  const change = { to, note: { ...note, ...(pool !== undefined && { pool }) }, users: joined(hold.users, users) };
  const result = await ledger.amend({ domain, address, owner: ownerKey(owner), version, ...change }, { signal });
  if (result.outcome !== "amended") throw new Stopped("changed", `the hold of ${address} has changed`);
  const back = { to: owner, users: hold.users ?? [], note: hold.note ?? {} };
  const now = { domain, address, owner: ownerKey(to), version: result.hold.version };
  return { hold: result.hold, undo: () => ledger.amend({ ...now, ...back }) };
}

function joined(some: readonly HoldUser[] = [], more: readonly HoldUser[]): HoldUser[] {
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
  const ledger = ledgerOf(place.namespace);
  const owner = claimOwner(claim, place.part);
  const request = { domain, address, owner, note: { ...note, pool }, users, early: true };
  const result = await ledger.take(request, { signal });
  if (result.outcome === "held") {
    throw new Stopped(
      "refused",
      `${address} is held for ${describeOwner(result.hold.owner)} meanwhile: one address cannot be two owners'`,
    );
  }
  if (result.outcome === "cooling") throw new Stopped("changed", `${address} was just released`);
  const { hold, outcome } = result;
  const release = { domain, address, owner: ownerKey(owner), version: hold.version, cooldownMs: 0 };
  return { hold, undo: async () => (outcome === "taken" ? ledger.release(release) : undefined) };
}

/** What whereabouts has written into a pool that nobody has adopted yet is in no hold: it would not be seen. */
async function poolFor(place: Place, address: Address, { client, signal }: PerformOptions) {
  const { namespace, identity, naming, l3, domain } = place;
  const found = await ensurePool(client, { namespace, identity, naming, l3, domain, signal });
  const pool = `${found.namespace}/${found.name}`;
  if (found.domain !== undefined && found.domain !== domain) {
    throw new Stopped("changed", `IPPool ${pool} is handed out in ${found.domain} now`);
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

/** One write: whose it is, our finalizer there, theirs gone. */
async function mark({ claim }: Move, made: StoredClaim, options: PerformOptions): Promise<StoredClaim> {
  const { client, signal } = options;
  if (claim.change !== "mark") return made;
  const { namespace = "", name = "", uid, resourceVersion } = claim.claim.metadata;
  const annotations = { ...claim.metadata.annotations, ...overriding(options) };
  const body = { metadata: { ...claim.metadata, annotations, uid, resourceVersion } };
  return changedMeanwhile(
    claim.claim,
    client.patch(ipamClaims, { namespace, name }, { type: "merge", body }, { signal }),
  );
}

/** Others write a claim's status and marks all the while; each time that happens it is read again. */
const unmarkTries = 8;

/** As it was, unless it is another's again or gone. */
async function unmark({ claim }: Move, marked: StoredClaim, options: PerformOptions): Promise<void> {
  if (claim.change !== "mark") return;
  const { client } = options;
  const { namespace = "", name = "", uid } = marked.metadata;
  const owner = marked.metadata.annotations?.[claimOwnerAnnotation];
  for (let tries = 0; tries < unmarkTries; tries++) {
    try {
      const { metadata } = await client.get(ipamClaims, { namespace, name });
      if (metadata.uid !== uid || metadata.annotations?.[claimOwnerAnnotation] !== owner) return;
      const back = before(claim.claim, claim.metadata);
      const annotations = { ...back.annotations, ...overriding(options) };
      const body = { metadata: { ...back, annotations, uid, resourceVersion: metadata.resourceVersion } };
      await client.patch(ipamClaims, { namespace, name }, { type: "merge", body });
      return;
    } catch (error) {
      if (isApiError(error, "not-found")) return;
      if (!isApiError(error, "conflict")) throw error;
    }
  }
}

/** The patch that leads back. */
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
