// The way back by the record: everything as it was, unless addresses were given since that would be forgotten.
import { TransferError } from "./error.ts";
import { type MigrationOptions, assertCluster, clusterId, fenceFor, liftDead, performPhases } from "./migration.ts";
import { phasesBack } from "./plan/step.ts";
import { type Survey, readSurvey } from "./plan/survey.ts";
import type { MigrationRecord } from "./record/record.ts";
import { givenSince, namesTakenSince, withCurrentClaims } from "./since.ts";

/** `force`: forget addresses that were given since. */
type RollbackOptions = MigrationOptions & { readonly force: boolean };

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
  // Before anybody is made to rest, and again when nothing changes any more.
  if (wasApplied) refuseLoss(await readSurvey(client, options.systemNamespace, signal), record, options);
  const fence = await fenceFor(options, record, !wasApplied && record.state !== "fencing");
  let { plan } = record;
  try {
    if (wasApplied) {
      const survey = await readSurvey(client, options.systemNamespace, fence.signal);
      refuseLoss(survey, record, options);
      plan = withCurrentClaims(plan, survey);
    }
    await store.save({ ...record, plan, state: "rolling-back" }, fence.signal);
  } catch (error) {
    if (wasApplied) await fence.lift();
    else await fence.leave();
    throw error;
  }
  try {
    const changed = wasApplied ? "overwrite" : "leave";
    await performPhases(options, phasesBack(plan), { signal: fence.signal, force: options.force, changed });
    await store.save({ ...record, plan, state: "rolled-back" }, fence.signal);
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
    const words = `The old names are in use again: ${taken.join(", ")}. Delete what is nobody's, and try again; or leave it as it is.`;
    throw new TransferError("in-the-way", words);
  }
  const lost = lossOf(survey, record);
  if (lost.length === 0) return;
  if (force) return say(`--force: forgetting what was given since: ${lost.join(", ")}`);
  const fault = `Given since the migration, and forgotten by going back: ${lost.join(", ")}.`;
  const remedy =
    "Use holdfast migrate apply --to whereabouts, which takes them along (with --name namespace/definition= where a name is to go); or delete these pods; or say --force: they keep running, and others may be given their addresses.";
  throw new TransferError("would-lose", `${fault} ${remedy}`);
}
