// What `holdfast check --repair` does: the safe findings, under the rules of the controller. Promised: addresses of
// running pods are held before any is freed; none is freed without a second, later look at pod and node read anew, nor
// where too much looks leaked at once; every write is guarded. Not promised: all of it. The rest is told with the
// reason, and needs a person or more time.
import type { Move } from "../claims/moves/move.ts";
import { perform as performMove, type PerformOptions } from "../claims/moves/perform.ts";
import type { ClaimsSnapshot } from "../claims/moves/snapshot.ts";
import { heldBack } from "../cluster/mass-release-breaker.ts";
import type { ReconcilerOptions } from "../cluster/reconciler-options.ts";
import { ipPools, pods } from "../cluster/resources.ts";
import { restsOf } from "../cluster/state.ts";
import type { Ledger } from "../ipam/ledger.ts";
import { describeOwner, type Owner, ownerKey } from "../ipam/owner.ts";
import { sleep } from "../kube/clock.ts";
import { parseKey } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { silent } from "../log/log.ts";
import { adopt } from "../pools/adopter.ts";
import { removeHeld } from "../pools/cooldown-sweeper.ts";
import { defaultLimits, judge, type JudgeLimits } from "../pools/leaks/judge.ts";
import { judgeOnce, liveFacts } from "../pools/leaks/live-facts.ts";
import { doublesOf } from "../pools/leaks/superseded.ts";
import { mirrorPatch } from "../pools/mirror/mirror.ts";
import type { PoolHold } from "../pools/pool-hold.ts";
import type { Finding, Repair } from "./finding.ts";
import type { Snapshot } from "./snapshot.ts";

export interface RepairOptions extends Pick<ReconcilerOptions, "client" | "clock"> {
  /** Of the namespace of the objects; `node`: whose daemon's hold it is to be. */
  readonly ledgerOf: (namespace: string, node?: string) => Ledger;
  readonly cooldownMs: number;
  /** whereabouts is active: then nothing is adopted, and entries are its own business. */
  readonly coexistence: boolean;
  /** Who paused handing out: nothing is repaired while pools and records are moved. Absent or empty: nobody. */
  readonly paused?: string;
  readonly limits?: JudgeLimits;
  readonly allowMassRelease?: boolean;
  readonly signal: AbortSignal;
}

export interface Repaired {
  readonly finding: Finding;
  readonly isDone: boolean;
  readonly words: string;
}

/** Repairs that take, before those that free. */
const order: readonly Repair["kind"][] = ["take", "adopt", "entries", "free", "delete-cooled"];

export async function repair(
  snapshot: Snapshot,
  findings: readonly Finding[],
  options: RepairOptions,
): Promise<Repaired[]> {
  const results: Repaired[] = [];
  const observedMs = options.clock.monotonicMs();
  const { paused = "" } = options;
  const resting = paused === "" ? undefined : `Handing out is paused (${paused}): try again when that has ended.`;
  for (const kind of order) {
    const due = findings.filter((finding) => finding.repair?.kind === kind);
    const refusal =
      resting ?? (kind === "free" ? await beforeFreeing(snapshot, due.length, observedMs, options) : undefined);
    for (const finding of due) {
      const done =
        refusal === undefined
          ? perform(snapshot, finding.repair!, observedMs, options).catch(failed)
          : { isDone: false, words: refusal };
      results.push({ finding, ...(await done) });
    }
  }
  return results;
}

const failed = (error: unknown) => ({ isDone: false, words: error instanceof Error ? error.message : String(error) });

/** Waits until a second look may be taken; a sentence where nothing may be freed. */
async function beforeFreeing(snapshot: Snapshot, due: number, observedMs: number, options: RepairOptions) {
  if (due === 0) return undefined;
  const held = snapshot.held.filter(({ cooling }) => cooling === undefined).length;
  const why = options.allowMassRelease === true ? undefined : heldBack(due, held);
  if (why !== undefined) return why;
  const leftMs = observedMs + (options.limits ?? defaultLimits).observeMs - options.clock.monotonicMs();
  if (leftMs > 0 && !(await sleep(options.clock, leftMs, options.signal))) return "It was called off.";
  return undefined;
}

const active =
  "whereabouts is active, or may be (ConfigMap holdfast-state says why): its entries are its own. Stop it first.";

type Done = Omit<Repaired, "finding">;

async function perform(snapshot: Snapshot, what: Repair, observedMs: number, options: RepairOptions): Promise<Done> {
  switch (what.kind) {
    case "take":
      return take(what, options);
    case "adopt":
      return adoptNow(snapshot, what.pool, options);
    case "entries":
      return writeEntries(what, options);
    case "free":
      return free(snapshot, what.held, observedMs, options);
    case "delete-cooled":
      return deleteCooled(what.held, options);
    case "hold-for-claim":
      throw new Error("repairClaims does this, before the pools are read");
  }
}

/** The snapshot may have missed a hold that was made while it was read: what is there is not written again. */
async function take(what: Extract<Repair, { kind: "take" }>, options: RepairOptions): Promise<Done> {
  const { request, namespace, node } = what;
  const { client, signal } = options;
  const { owner, address, domain } = request;
  const ledger = options.ledgerOf(namespace, node);
  const found = await ledger.find(domain, ownerKey(owner), { signal });
  if (found.some((hold) => hold.address.toString() === address.toString())) {
    return { isDone: true, words: `${address} is held for ${describeOwner(owner)} already.` };
  }
  if (!(await isAlive(client, owner, signal))) return { isDone: true, words: `${describeOwner(owner)} is gone.` };
  const result = await ledger.take({ ...request, early: true }, { signal });
  if (result.outcome === "taken" || result.outcome === "yours") {
    return { isDone: true, words: `${address} is held for ${describeOwner(owner)} now.` };
  }
  const who = result.outcome === "held" ? describeOwner(result.hold.owner) : "nobody yet, it cools down";
  return { isDone: false, words: `${address} is held by ${who} meanwhile: delete one of the two pods.` };
}

async function isAlive(client: KubeClient, { namespace, name, uid }: Owner, signal: AbortSignal): Promise<boolean> {
  const pod = await client.lookUp(pods, { namespace, name }, { signal });
  return pod !== undefined && (uid === "" || pod.metadata.uid === uid) && pod.metadata.deletionTimestamp === undefined;
}

async function adoptNow(snapshot: Snapshot, key: string, options: RepairOptions): Promise<Done> {
  const { client, clock, coexistence, signal } = options;
  if (coexistence) return { isDone: false, words: active };
  const found = snapshot.pools.find(({ range }) => range.key === key);
  if (found === undefined) return { isDone: false, words: `IPPool ${key} is gone.` };
  const adopter = { client, now: () => clock.wallMs(), log: silent, pools: snapshot.index };
  const { isDone } = await adopt(adopter, found.pool, snapshot.networks.uses, signal);
  if (isDone) return { isDone, words: `Every entry of IPPool ${key} has its hold now.` };
  return { isDone: false, words: `Some entries of IPPool ${key} cannot be read: they are listed as unreadable.` };
}

async function writeEntries(
  { pool, changes }: Extract<Repair, { kind: "entries" }>,
  options: RepairOptions,
): Promise<Done> {
  if (options.coexistence) return { isDone: false, words: active };
  const patch = { type: "json", operations: mirrorPatch(changes) } as const;
  await options.client.patch(ipPools, parseKey(pool), patch, { signal: options.signal });
  return { isDone: true, words: `IPPool ${pool} shows its holds now.` };
}

async function free(snapshot: Snapshot, held: PoolHold, observedMs: number, options: RepairOptions): Promise<Done> {
  const { client, clock, cooldownMs, ledgerOf, limits = defaultLimits, signal } = options;
  const doubles = [...doublesOf(snapshot.held, snapshot.index).values()].find((all) => all.includes(held)) ?? [];
  const asking = { client, systemNamespace: snapshot.systemNamespace, judge: judgeOnce(snapshot), signal };
  const facts = await liveFacts(asking, held, { lastNode: "", doubles });
  const earlier = { version: held.hold.version, firstMs: observedMs };
  const judged = judge(held, facts, earlier, clock.monotonicMs(), limits);
  if (judged.outcome === "keep") return { isDone: true, words: `${held.hold.address} is kept: ${judged.why}.` };
  if (judged.outcome === "suspect") {
    const words = `${held.hold.address} is kept for another ${Math.ceil(judged.afterMs / 1000)} s: ${judged.why}.`;
    return { isDone: false, words };
  }
  const { domain, address, owner, version } = held.hold;
  const request = { domain, address, owner: ownerKey(owner), version, cooldownMs };
  const { outcome } = await ledgerOf(held.namespace).release(request, { signal });
  if (outcome === "superseded")
    return { isDone: false, words: `${address} was renewed or taken by another meanwhile, and stays.` };
  return { isDone: true, words: `${address} is free now: ${judged.why}.` };
}

async function deleteCooled(held: PoolHold, { client, signal }: RepairOptions): Promise<Done> {
  const { address } = held.hold;
  const isChanged = (await removeHeld(client, held, signal)) === "changed";
  if (isChanged) return { isDone: false, words: `${address} was taken again meanwhile, and stays.` };
  return { isDone: true, words: `The object of ${address} is deleted.` };
}

/** Holds for a claim what it shows and nobody holds. Frees nothing: only the leader frees a claim's addresses. */
export async function repairClaims(
  { state }: Pick<ClaimsSnapshot, "state">,
  findings: readonly Finding[],
  options: PerformOptions,
): Promise<ReadonlyMap<Finding, Done>> {
  const rests = restsOf(state);
  const repaired = new Map<Finding, Done>();
  for (const finding of findings) {
    const what = finding.repair;
    if (what?.kind !== "hold-for-claim") continue;
    const words = { isDone: false, words: `No claim gets an address now (${rests}): try again afterwards.` };
    repaired.set(finding, rests === "" ? await repairOne(what.move, options) : words);
  }
  return repaired;
}

async function repairOne(move: Move, options: PerformOptions): Promise<Done> {
  try {
    const result = await performMove(move, options);
    if (result.outcome !== "done") return { isDone: false, words: `Left: ${result.why}.` };
    return { isDone: true, words: `${result.addresses.join(" and ")} is held for the claim now.` };
  } catch (error) {
    return failed(error);
  }
}

/** Addresses that a repair here holds for a claim: nobody else is to hold them for the claim's pod. */
export function repairedAddresses(findings: readonly Finding[]): ReadonlySet<string> {
  return new Set(
    findings.flatMap(({ repair: what }) =>
      what?.kind === "hold-for-claim" ? what.move.take.map(({ place, address }) => `${place.domain} ${address}`) : [],
    ),
  );
}
