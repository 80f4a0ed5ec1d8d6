// The way there. `apply` may be killed at any point and called again: it goes on with what it recorded. What fails
// half-way is taken back before anybody may write again.
import { asError } from "../kube/abort.ts";
import { deadline } from "../kube/clock.ts";
import { detectUpstream } from "../ledger/coexistence/upstream.ts";
import { counted } from "../net/counted.ts";
import { TransferError } from "./error.ts";
import { type MigrationOptions, assertCluster, clusterId, fenceFor, liftDead, performPhases } from "./migration.ts";
import type { Goal } from "./plan/goal.ts";
import { type Plan, isEmpty, makePlan, originalsOf } from "./plan/plan.ts";
import { phasesBack, phasesOf } from "./plan/step.ts";
import { type Survey, objectId, readSurvey } from "./plan/survey.ts";
import type { Fence } from "./quiesce/quiesce.ts";
import { type MigrationRecord, goalOf, plainOf } from "./record/record.ts";
import { standingRecords } from "./since.ts";

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
    const words = `${store.place} is the record of a migration that is being rolled back: end that with holdfast migrate rollback first.`;
    throw new TransferError("conflict", words);
  }
  if (begun?.state === "applying") {
    say(`going on with migration ${begun.id}, begun ${begun.startedAt} (${store.place})`);
    return carryOut(options, begun, await fenceFor(options, begun, true));
  }
  if (found !== undefined && begun === undefined) await liftDead(options, found);
  if (found?.state === "applied") await refuseOverwriting(options, found);
  const { plan: preview, survey } = await planAndSurvey(options, options.goal);
  refuse(preview, options);
  await refuseBesideUpstream(options, preview, survey);
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
async function prepare(options: ApplyOptions, record: MigrationRecord, { signal }: Fence) {
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
    options.say(`failed: ${asError(error).message}`);
    options.say("going back to how it was");
    await goBack(options, record, fence);
    throw error;
  }
  await fence.lift();
  return "applied";
}

/** Lifts the fence where all of it could be taken back; else it stays. */
async function goBack(options: MigrationOptions, record: MigrationRecord, fence: Fence): Promise<void> {
  using limit = deadline(options.clock, backTimeoutMs);
  const { signal } = limit;
  try {
    await performPhases(options, phasesBack(record.plan), { signal, changed: "leave" });
    await options.store.save({ ...record, state: "rolled-back" }, signal);
  } catch (error) {
    await fence.leave();
    options.say(`could not go back either: ${asError(error).message}`);
    const words = `Writers stay paused. Set right what is named and run holdfast migrate apply or rollback again, with ${options.store.place}.`;
    options.say(words);
    return;
  }
  await fence.lift();
}

async function planAndSurvey(options: MigrationOptions, goal: Goal): Promise<{ plan: Plan; survey: Survey }> {
  const survey = await readSurvey(options.client, options.systemNamespace, options.signal);
  return { survey, plan: makePlan(survey, goal) };
}

/** whereabouts' own binary knows neither key: it would hand out from empty pools under the old names. */
async function refuseBesideUpstream(options: ApplyOptions, { edits }: Plan, survey: Survey): Promise<void> {
  const changes = edits.flatMap((edit) => edit.changes);
  if (!changes.some(({ key, after }) => key !== "network_name" && after !== undefined)) return;
  const { client, systemNamespace, clock, signal } = options;
  const where = { systemNamespace, poolNamespace: survey.systemNamespace };
  const { reconciler, why } = await detectUpstream(client, { ...where, now: () => clock.wallMs(), signal });
  if (!reconciler) return;
  const fault = `Nothing was changed: ${why.join(" ")} It knows neither pool_namespace nor pool_naming, and would hand out from empty pools under the old names.`;
  const remedy =
    "Install Holdfast under its name on every node, remove it, and try again; or use --to named, which it understands.";
  throw new TransferError("conflict", `${fault} ${remedy}`);
}

/** A record of what can still be taken back is not thrown away for a plan that does nothing, nor without a word. */
async function refuseOverwriting(options: ApplyOptions, found: MigrationRecord): Promise<void> {
  const { plan } = await planAndSurvey(options, options.goal);
  if (isEmpty(plan)) return;
  const words = `${options.store.place} is the record of migration ${found.id}, which is applied and can still be rolled back: keep it, and give another --record for this one.`;
  throw new TransferError("conflict", words);
}

/** After a crash: whoever wrote in the meantime would be left out of the recorded plan. */
async function assertNothingNew(options: ApplyOptions, record: MigrationRecord): Promise<void> {
  const { plan } = await planAndSurvey(options, goalOf(record.goal));
  const strange = new Set(originalsOf(plan).map(objectId)).difference(new Set(originalsOf(record.plan).map(objectId)));
  if (strange.size === 0) return;
  const words = `Since migration ${record.id} was interrupted somebody wrote ${[...strange].join(", ")}, which its plan does not know.`;
  throw new TransferError("changed", words);
}

function refuse(plan: Plan, { editDefinitions }: ApplyOptions): void {
  if (plan.conflicts.length > 0) {
    const conflicts = plan.conflicts.map(({ message, fix }) => `\n${message} ${fix}`);
    const words = `Nothing was changed: the plan has ${counted(conflicts.length, "conflict")}.${conflicts.join("")}`;
    throw new TransferError("conflict", words);
  }
  if (plan.edits.length > 0 && !editDefinitions) {
    const fault = `Nothing was changed: ${plan.edits.map(({ key }) => key).join(", ")} must say where their pools will be, or pods would be given addresses from empty pools.`;
    const remedy = "Say --edit-nads, and make the same change wherever these definitions come from (Git, Helm).";
    throw new TransferError("conflict", `${fault} ${remedy}`);
  }
}
