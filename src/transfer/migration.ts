// A migration, from its record to its end, and back. `apply` may be killed at any point and called again; it goes on with what it
// recorded. What fails half-way is taken back before anybody may write again.
import { leaseName } from "../api/slice-name.ts";
import type { Clock } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import { namespaces } from "../ledger/resources.ts";
import { detectUpstream } from "../ledger/upstream.ts";
import { TransferError } from "./error.ts";
import type { Goal } from "./goal.ts";
import { matchPools } from "./match.ts";
import { readNetwork } from "./network.ts";
import { perform, type PerformOptions } from "./perform.ts";
import { isEmpty, makePlan, type Plan } from "./plan.ts";
import { type Fence, liftLeftover, quiesce, type QuiesceOptions } from "./quiesce.ts";
import { readSurvey } from "./read-survey.ts";
import { goalOf, type MigrationRecord, plainOf, type RecordStore } from "./record.ts";
import { givenSince, namesTakenSince, standingRecords } from "./since.ts";
import { describeStep, type Phase, phasesBack, phasesOf } from "./step.ts";
import { objectKey, type Survey } from "./survey.ts";

export interface MigrationOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly store: RecordStore;
  readonly systemNamespace: string;
  /** Of a new migration; 8 characters and more of [0-9a-z-]. */
  readonly newId: () => string;
  readonly say: (line: string) => void;
  readonly quietMs?: QuiesceOptions["quietMs"];
  readonly signal: AbortSignal;
}

/** A create costs the server 4 ms; this many at once keep two cores busy and nobody else waiting. */
const atOnce = 8;
/** Going back after a failure must not hang for ever on a server that is gone. */
const backTimeoutMs = 600_000;

export interface ApplyOptions extends MigrationOptions {
  readonly goal: Goal;
  /** Change the definitions that must say where their pools are. Without it a plan that needs it is refused. */
  readonly editDefinitions: boolean;
}

export async function apply(options: ApplyOptions): Promise<"applied" | "nothing to do"> {
  const { client, store, signal, say } = options;
  const cluster = await clusterId(client, signal);
  const found = await store.load(signal);
  const begun = found !== undefined && (found.state === "applying" || found.state === "fencing") ? found : undefined;
  if (begun !== undefined) assertCluster(begun, cluster, store);
  if (found?.state === "rolling-back") {
    throw new TransferError(
      "conflict",
      `${store.place} is the record of a migration that is being rolled back: end that with holdfast migrate rollback first.`,
    );
  }
  if (begun?.state === "applying") {
    say(`going on with migration ${begun.id}, begun ${begun.startedAt} (${store.place})`);
    return carryOut(options, begun, await fenceFor(options, begun, true));
  }
  if (found !== undefined && begun === undefined) await liftDead(options, found);
  if (found?.state === "applied") await refuseOverwriting(options, found);
  const preview = await planNow(options, options.goal);
  refuse(preview, options);
  await refuseBesideUpstream(options, preview);
  // Nobody is made to rest for nothing; a migration that was killed while it raised its fence must lift it.
  if (begun === undefined && isEmpty(preview)) return "nothing to do";
  const record: MigrationRecord = begun ?? {
    format: "holdfast migration 1",
    id: options.newId(),
    cluster,
    systemNamespace: options.systemNamespace,
    startedAt: new Date(options.clock.wallMs()).toISOString(),
    state: "fencing",
    goal: plainOf(options.goal),
    plan: { pools: [], records: [], edits: [], unmatched: [], conflicts: [] },
    standing: [],
  };
  await store.save(record, signal);
  const fence = await fenceFor(options, record, false);
  const ready = await prepare(options, record, fence).catch(async (error: unknown) => {
    await fence.lift();
    throw error;
  });
  if (ready !== undefined) return carryOut(options, ready, fence);
  await fence.lift();
  return "nothing to do";
}

/** Plans again, now that nothing changes any more, and records it; undefined where nothing is left to do. */
async function prepare(
  options: ApplyOptions,
  record: MigrationRecord,
  { signal }: Fence,
): Promise<MigrationRecord | undefined> {
  const { plan, survey } = await planAndSurvey(options, options.goal);
  refuse(plan, options);
  if (isEmpty(plan)) {
    await options.store.save({ ...record, state: "rolled-back" }, signal);
    return undefined;
  }
  const standing = standingRecords(survey, plan);
  const ready: MigrationRecord = { ...record, state: "applying", goal: plainOf(options.goal), plan, standing };
  await options.store.save(ready, signal);
  options.say(`recorded: ${options.store.place} has everything that is touched, as it was`);
  return ready;
}

async function carryOut(options: ApplyOptions, record: MigrationRecord, fence: Fence): Promise<"applied"> {
  const { store } = options;
  try {
    await assertNothingNew(options, record);
    await performPhases(options, phasesOf(record.plan), { signal: fence.signal });
    await store.save({ ...record, state: "applied" }, fence.signal);
  } catch (error) {
    options.say(`failed: ${messageOf(error)}`);
    options.say("going back to how it was");
    await goBack(options, record, fence);
    throw error;
  }
  await fence.lift();
  return "applied";
}

/** Lifts the fence where all of it could be taken back; else it stays. */
async function goBack(options: MigrationOptions, record: MigrationRecord, fence: Fence): Promise<void> {
  const signal = AbortSignal.timeout(backTimeoutMs);
  try {
    await performPhases(options, phasesBack(record.plan), { signal, changed: "leave" });
    await options.store.save({ ...record, state: "rolled-back" }, signal);
  } catch (error) {
    await fence.leave();
    options.say(`could not go back either: ${messageOf(error)}`);
    options.say(
      `Writers stay paused. Set right what is named and run holdfast migrate apply or rollback again, with ${options.store.place}.`,
    );
    return;
  }
  await fence.lift();
}

export interface RollbackOptions extends MigrationOptions {
  /** Forget addresses that were given since. */
  readonly force: boolean;
}

export async function rollback(options: RollbackOptions): Promise<"rolled back" | "nothing to do"> {
  const { client, store, signal, say } = options;
  const record = await store.load(signal);
  if (record === undefined)
    throw new TransferError("bad-record", `There is no record at ${store.place}: say where it is with --record.`);
  assertCluster(record, await clusterId(client, signal), store);
  if (record.state === "rolled-back") {
    await liftDead(options, record);
    return "nothing to do";
  }
  const wasApplied = record.state === "applied";
  const fence = await fenceFor(options, record, !wasApplied && record.state !== "fencing");
  try {
    if (wasApplied) refuseLoss(await readSurvey(client, options.systemNamespace, fence.signal), record, options);
    await store.save({ ...record, state: "rolling-back" }, fence.signal);
  } catch (error) {
    if (wasApplied) await fence.lift();
    else await fence.leave();
    throw error;
  }
  try {
    const changed = wasApplied ? "overwrite" : "leave";
    await performPhases(options, phasesBack(record.plan), { signal: fence.signal, force: options.force, changed });
    await store.save({ ...record, state: "rolled-back" }, fence.signal);
  } catch (error) {
    await fence.leave();
    say(`Writers stay paused. Run holdfast migrate rollback again, with ${store.place}.`);
    throw error;
  }
  await fence.lift();
  return "rolled back";
}

/** What going back would forget; empty: nothing. For `--dry-run` too. */
export function lossOf(survey: Survey, record: MigrationRecord): string[] {
  return record.state === "applied" ? givenSince(survey, record.plan, record.standing) : [];
}

function refuseLoss(survey: Survey, record: MigrationRecord, { force, say }: RollbackOptions): void {
  const taken = namesTakenSince(survey, record.plan);
  if (taken.length > 0) {
    throw new TransferError(
      "in-the-way",
      `The old names are in use again: ${taken.join(", ")}. Delete what is nobody's, and try again; or leave it as it is.`,
    );
  }
  const lost = lossOf(survey, record);
  if (lost.length === 0) return;
  if (force) return say(`--force: ${lost.length} addresses given since are forgotten: ${lost.join(", ")}`);
  throw new TransferError(
    "would-lose",
    `${lost.length} addresses were given since the migration, and going back by the record would forget them: ${lost.join(", ")}. ` +
      "Use holdfast migrate apply --to whereabouts, which takes them along (with --name namespace/definition= where a name is to go again); " +
      "or delete these pods; or say --force: they keep running, and others may be given their addresses.",
  );
}

async function performPhases(
  { client, say }: MigrationOptions,
  phases: readonly Phase[],
  options: PerformOptions,
): Promise<void> {
  const total = phases.reduce((sum, { steps }) => sum + steps.length, 0);
  let done = 0;
  for (const { about, steps } of phases) {
    if (steps.length > 0) say(`${about}: ${steps.length}`);
    const queue = steps.values();
    const work = async () => {
      for (const step of queue) {
        options.signal.throwIfAborted();
        const outcome = await perform(client, step, options);
        done += 1;
        say(`  [${done}/${total}] ${describeStep(step)}${outcome === "already" ? " (was done)" : ""}`);
      }
    };
    // All of them end before the first failure is told: no step is under way while others are taken back.
    const ended = await Promise.allSettled(Array.from({ length: Math.min(atOnce, steps.length) }, work));
    const failed = ended.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

async function fenceFor(options: MigrationOptions, record: MigrationRecord, isHalfMoved: boolean): Promise<Fence> {
  const { client, clock, systemNamespace, say, quietMs, signal } = options;
  const survey = await readSurvey(client, systemNamespace, signal);
  const sliceLeases = sliceLeasesOf(survey);
  return quiesce({
    client,
    clock,
    systemNamespace,
    id: record.id,
    sliceLeases,
    say,
    ...(quietMs && { quietMs }),
    isHalfMoved,
    signal,
  });
}

/** A migration that ended, and was killed before it let everybody in again. */
async function liftDead(options: MigrationOptions, { id }: MigrationRecord): Promise<void> {
  const { client, clock, systemNamespace, say, signal } = options;
  const sliceLeases = sliceLeasesOf(await readSurvey(client, systemNamespace, signal));
  await liftLeftover({ client, clock, systemNamespace, id, sliceLeases, say, signal });
}

function sliceLeasesOf(survey: Survey): string[] {
  const readings = survey.definitions.map((definition) => readNetwork(definition));
  const networks = readings.flatMap((reading) => (reading.kind === "network" ? [reading.network] : []));
  const identities = [...matchPools(survey, networks).values()].flat().map(({ identity }) => identity);
  return [...new Set(identities.filter(({ node }) => node !== "").map((identity) => leaseName(identity)))];
}

async function planAndSurvey(options: MigrationOptions, goal: Goal): Promise<{ plan: Plan; survey: Survey }> {
  const survey = await readSurvey(options.client, options.systemNamespace, options.signal);
  return { survey, plan: makePlan(survey, goal) };
}

async function planNow(options: MigrationOptions, goal: Goal): Promise<Plan> {
  return (await planAndSurvey(options, goal)).plan;
}

/** whereabouts' own binary knows neither key: it would hand out from empty pools under the old names. */
async function refuseBesideUpstream(
  { client, systemNamespace, clock, signal }: ApplyOptions,
  { edits }: Plan,
): Promise<void> {
  const isNew = edits.some(({ changes }) =>
    changes.some(({ key, after }) => key !== "network_name" && after !== undefined),
  );
  if (!isNew) return;
  const { reconciler, why } = await detectUpstream(client, { systemNamespace, now: () => clock.wallMs(), signal });
  if (!reconciler) return;
  throw new TransferError(
    "conflict",
    `Nothing was changed: ${why.join(" ")} It knows neither pool_namespace nor pool_naming, and would hand out from empty pools under the old names. ` +
      "Install Holdfast under its name on every node, remove it, and try again; or use --to named, which it understands.",
  );
}

/** A record of what can still be taken back is not thrown away for a plan that does nothing, nor without a word. */
async function refuseOverwriting(options: ApplyOptions, found: MigrationRecord): Promise<void> {
  if (isEmpty(await planNow(options, options.goal))) return;
  throw new TransferError(
    "conflict",
    `${options.store.place} is the record of migration ${found.id}, which is applied and can still be rolled back: keep it, and give another --record for this one.`,
  );
}

/** After a crash: whoever wrote in the meantime would be left out of the recorded plan. */
async function assertNothingNew(options: ApplyOptions, record: MigrationRecord): Promise<void> {
  const fresh = await planNow(options, goalOf(record.goal));
  const known = new Set([
    ...record.plan.records.map(({ before }) => `${before.kind} ${objectKey(before)}`),
    ...record.plan.pools.flatMap(({ from }) => from.map((pool) => `IPPool ${objectKey(pool)}`)),
  ]);
  const now = [...fresh.records.map(({ before }) => before), ...fresh.pools.flatMap(({ from }) => from)];
  const strange = now.filter((object) => !known.has(`${object.kind} ${objectKey(object)}`));
  if (strange.length === 0) return;
  throw new TransferError(
    "changed",
    `Since migration ${record.id} was interrupted somebody wrote ${strange.map((object) => `${object.kind} ${objectKey(object)}`).join(", ")}, which its plan does not know.`,
  );
}

function refuse(plan: Plan, { editDefinitions }: ApplyOptions): void {
  if (plan.conflicts.length > 0) {
    const words = plan.conflicts.map(({ message, fix }) => `${message} ${fix}`).join("\n");
    throw new TransferError(
      "conflict",
      `Nothing was changed: the plan has ${plan.conflicts.length} conflicts.\n${words}`,
    );
  }
  if (plan.edits.length > 0 && !editDefinitions) {
    throw new TransferError(
      "conflict",
      `Nothing was changed: ${plan.edits.map(({ key }) => key).join(", ")} must say where their pools will be, or pods would be given addresses from empty pools. ` +
        "Say --edit-nads, and make the same change wherever these definitions come from (Git, Helm).",
    );
  }
}

function assertCluster(record: MigrationRecord, cluster: string, store: RecordStore): void {
  if (record.cluster === cluster) return;
  throw new TransferError(
    "wrong-cluster",
    `${store.place} is the record of another cluster: choose the right one with --kubeconfig and --context.`,
  );
}

async function clusterId(client: KubeClient, signal: AbortSignal): Promise<string> {
  const { metadata } = await client.get(namespaces, { name: "kube-system" }, { signal });
  return metadata.uid ?? "";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
