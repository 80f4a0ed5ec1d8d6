// Plays the leader: plans from a cache, confirms final steps from the cluster, acts. Yields before each read and write.
import { claimFinalizer } from "../../../api/claims/claim-marks.ts";
import { ownerKey } from "../../../ipam/owner.ts";
import { parseAddress } from "../../../net/address.ts";
import type { ClaimHold, FamilyFacts } from "../facts.ts";
import { planFamily } from "../plan.ts";
import { type ClaimStep, confirmed, isFinal } from "../steps.ts";
import { type ModelCluster, namespace } from "./cluster.ts";
import { gather, kinds, type Snapshot, snapshotOf } from "./gather.ts";
import { patched, withMetadata, without } from "./objects.ts";

/** How many rounds until a family is settled. Each row of the state machine takes a few; more is a loop. */
const roundsMax = 40;

/** Called with every step that is about to be done, so that an oracle can look. */
export type OnStep = (step: ClaimStep) => void;

/** How a leader works; a test of the oracle gives it another. */
export interface LeaderWays {
  readonly plan: (facts: FamilyFacts) => readonly ClaimStep[];
  /** Plans again from the cluster before it does what cannot be undone. */
  readonly confirms: boolean;
}

export const properWays: LeaderWays = { plan: planFamily, confirms: true };

export async function* lead(
  cluster: ModelCluster,
  name: string,
  cached: Snapshot,
  onStep: OnStep,
  ways: LeaderWays = properWays,
): AsyncGenerator<undefined, void> {
  for (const step of ways.plan(gather(cluster, name, cached))) {
    yield;
    const surely = isFinal(step) && ways.confirms ? yield* confirm(cluster, name, step, ways) : step;
    if (surely === undefined) continue;
    onStep(surely);
    await act(cluster, surely);
  }
}

async function* confirm(
  cluster: ModelCluster,
  name: string,
  step: ClaimStep,
  { plan }: LeaderWays,
): AsyncGenerator<undefined, ClaimStep | undefined> {
  const fresh = new Map<string, unknown>();
  for (const kind of kinds) {
    yield;
    fresh.set(kind, snapshotOf(cluster)[kind]);
  }
  return confirmed(step, plan(gather(cluster, name, Object.fromEntries(fresh) as unknown as Snapshot)));
}

/** Plans and acts with nothing in between until nothing is left to do. Returns the steps that were done. */
export async function settle(
  cluster: ModelCluster,
  name: string,
  onStep: OnStep = () => {},
): Promise<readonly ClaimStep[]> {
  const done: ClaimStep[] = [];
  for (let round = 0; round < roundsMax; round++) {
    const steps = acts(gather(cluster, name));
    if (steps.length === 0) return done;
    for (const step of steps) {
      onStep(step);
      await act(cluster, step);
      done.push(step);
    }
  }
  throw new Error(`family ${name} does not rest: ${JSON.stringify(acts(gather(cluster, name)))}`);
}

/** What a plan would do, events and waiting aside. */
export function acts(facts: FamilyFacts): readonly ClaimStep[] {
  return planFamily(facts).filter(({ kind }) => kind !== "event" && kind !== "again");
}

async function act(cluster: ModelCluster, step: ClaimStep): Promise<void> {
  const { claims, ledger } = cluster;
  switch (step.kind) {
    case "create":
      claims.create(step.claim);
      return;
    case "mark":
      claims.update(step.claim, (now) => patched(now, step.metadata) ?? now, step.claim.metadata.resourceVersion);
      return;
    case "delete":
      claims.delete(step.claim);
      return;
    case "drop-finalizer":
      claims.update(
        step.claim,
        (now) => withMetadata(now, { finalizers: without(now, claimFinalizer) }),
        step.claim.metadata.resourceVersion,
      );
      return;
    case "status":
      claims.update(step.claim, (now) => ({ ...now, status: step.status }), step.claim.metadata.resourceVersion);
      return;
    case "pass":
      await ledger.amend({ ...guard(step.hold), to: step.to, note: step.note });
      return;
    case "users":
      await ledger.amend({ ...guard(step.hold), users: step.users });
      return;
    case "release":
      await ledger.release({ ...guard(step.hold), cooldownMs: cluster.cooldownMs });
      return;
    case "take":
      await take(cluster, step);
      return;
    case "event":
    case "again":
  }
}

async function take({ ledger }: ModelCluster, step: Extract<ClaimStep, { kind: "take" }>): Promise<void> {
  const { claim, addresses, identity } = step;
  const owner = { kind: "claim", uid: claim.metadata.uid!, namespace, name: claim.metadata.name! } as const;
  const note = { pool: claim.spec.network, ...(identity !== undefined && { identity }) };
  for (const address of addresses) {
    await ledger.take({ domain: claim.spec.network, address: parseAddress(address), owner, note });
  }
}

function guard({ hold }: ClaimHold) {
  const { domain, address, owner, version } = hold;
  return { domain, address, owner: ownerKey(owner), version };
}
