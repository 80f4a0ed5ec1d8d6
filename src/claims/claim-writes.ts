// Writes of a move to its claim, each guarded by what was read: made, let go, marked, and marked back.
import { claimFinalizer, claimOwnerAnnotation, overrideAnnotation } from "../api/claim-marks.ts";
import { sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import { ipamClaims, type StoredClaim } from "../ledger/resources.ts";
import { describeClaim, type Move } from "./move.ts";
import type { MetadataPatch } from "./plan/steps.ts";
import { type PerformOptions, Stopped } from "./writing.ts";

/** A claim that is gone is not waited for longer: what keeps it was named when it was planned. */
const goneTries = 50;
const goneEveryMs = 100;

/** The claim that is there, or one that is made. */
export async function claimFor({ claim }: Move, options: PerformOptions): Promise<StoredClaim> {
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

/** One write: whose it is, our finalizer there, theirs gone. */
export async function mark({ claim }: Move, made: StoredClaim, options: PerformOptions): Promise<StoredClaim> {
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
export async function unmark({ claim }: Move, marked: StoredClaim, options: PerformOptions): Promise<void> {
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
