// `holdfast migrate` and `holdfast import`, put together: connection, record, clock, signals.
import { randomBytes } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { UsageError } from "../src/cli/cluster-command.ts";
import { connected } from "../src/cli/connection.ts";
import type { Import, ImportRequest } from "../src/cli/import.ts";
import type { ApplyRequest, Migrate, MigrateRequest, PlanRequest, RollbackRequest } from "../src/cli/migrate.ts";
import type { Output } from "../src/cli/program.ts";
import { fetchState, readState } from "../src/cluster/state.ts";
import { realClock } from "../src/kube/clock.ts";
import type { KubeClient } from "../src/kube/rest.ts";
import { apply } from "../src/transfer/apply.ts";
import { TransferError } from "../src/transfer/error.ts";
import type { MigrationOptions } from "../src/transfer/migration.ts";
import { makePlan } from "../src/transfer/plan/plan.ts";
import { showPlan } from "../src/transfer/plan/show.ts";
import { describeStep, phasesBack } from "../src/transfer/plan/step.ts";
import { readSurvey } from "../src/transfer/plan/survey.ts";
import { pauseOwner } from "../src/transfer/quiesce/fence-pause.ts";
import { policyOwner } from "../src/transfer/quiesce/fence-policy.ts";
import { configMapStore } from "../src/transfer/record/record-config-map.ts";
import { fileStore } from "../src/transfer/record/record-file.ts";
import type { RecordStore } from "../src/transfer/record/record.ts";
import { lossOf, rollback } from "../src/transfer/rollback.ts";
import type { HostLocalFile } from "../src/transfer/takeover/host-local.ts";
import { runImport } from "../src/transfer/takeover/import.ts";

export const migrate: Migrate = {
  plan: (request, output) => connected(request, (client, signal) => plan(client, request, output, signal)),
  apply: (request, output) =>
    connected(request, async (client, signal) => {
      if (request.dryRun) return plan(client, { ...request, output: "text" }, output, signal);
      const { goal, editNads: editDefinitions } = request satisfies ApplyRequest;
      const outcome = await apply({ ...migrationOptions(client, request, output, signal), goal, editDefinitions });
      output.line(
        outcome === "applied"
          ? `Done. To go back: holdfast migrate rollback --record ${request.record}`
          : "Nothing to do.",
      );
    }),
  rollback: (request, output) =>
    connected(request, async (client, signal) => {
      if (request.dryRun) return dryRollback(client, request, output, signal);
      const { force } = request satisfies RollbackRequest;
      const outcome = await rollback({ ...migrationOptions(client, request, output, signal), force });
      output.line(
        outcome === "rolled back" ? "Done: everything is as it was." : "Nothing to do: it is rolled back already.",
      );
    }),
};

export const takeOver: Import = (request, output) =>
  connected(request, async (client, signal) => {
    const { folder, definition, nodeName, source, systemNamespace, compare, dryRun } = request satisfies ImportRequest;
    const report = await runImport({
      client,
      source,
      systemNamespace,
      mode: compare ? "compare" : dryRun ? "dry-run" : "write",
      files: folder === undefined ? [] : readFolder(folder),
      ...(folder !== undefined && { folder }),
      ...(definition !== undefined && { definition }),
      ...(nodeName !== undefined && { node: nodeName }),
      now: () => Date.now(),
      signal,
    });
    for (const line of report.lines) output.line(line);
    if (report.isClean) return;
    throw new UsageError("Not all of it agrees: see above.", 1);
  });

/** host-local's files are a few bytes each; a /16 that is full has 65,534 of them. */
function readFolder(folder: string): HostLocalFile[] {
  try {
    return readdirSync(folder).map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
  } catch (error) {
    throw new UsageError(
      `--folder ${folder} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      1,
      { cause: error },
    );
  }
}

async function plan(client: KubeClient, request: PlanRequest, output: Output, signal: AbortSignal): Promise<void> {
  const made = makePlan(await readSurvey(client, request.systemNamespace, signal), request.goal);
  const paused = await pauseLines(client, request, signal);
  if (request.output === "json") output.line(JSON.stringify({ ...made, paused }, undefined, 2));
  else for (const line of [...showPlan(made), ...paused]) output.line(line);
}

/** A migration that was killed left its pause: who plans must see it, and how it ends. */
async function pauseLines(
  client: KubeClient,
  { systemNamespace: namespace, record }: MigrateRequest,
  signal: AbortSignal,
): Promise<string[]> {
  const { paused } = readState(await fetchState(client, { namespace, signal }));
  const policy = await policyOwner(client, signal);
  if (paused === "" && policy === undefined) return [];
  const id = pauseOwner(paused) ?? policy;
  return [
    "",
    paused === "" ? `Writers are kept out by the policy of migration ${id}.` : `Handing out is paused: ${paused}`,
    id === undefined
      ? "  It was not a migration that paused it: ask whoever did."
      : `  If migration ${id} no longer runs: holdfast migrate apply --record ${record} goes on with it, holdfast migrate rollback --record ${record} takes it back.`,
  ];
}

async function dryRollback(
  client: KubeClient,
  request: RollbackRequest,
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  const record = await storeOf(client, request.record).load(signal);
  if (record === undefined)
    throw new TransferError("bad-record", `There is no record at ${request.record}: say where it is with --record.`);
  for (const { steps } of phasesBack(record.plan)) for (const step of steps) output.line(describeStep(step));
  const lost = lossOf(await readSurvey(client, request.systemNamespace, signal), record);
  if (lost.length > 0) output.line(`Given since, and forgotten by going back: ${lost.join(", ")}`);
}

function migrationOptions(
  client: KubeClient,
  request: MigrateRequest,
  output: Output,
  signal: AbortSignal,
): MigrationOptions {
  return {
    client,
    clock: realClock,
    store: storeOf(client, request.record),
    systemNamespace: request.systemNamespace,
    newId: () => randomBytes(4).toString("hex"),
    say: (line) => output.line(line),
    signal,
  };
}

function storeOf(client: KubeClient, place: string): RecordStore {
  const inCluster = /^configmap:([^/]+)\/(.+)$/.exec(place);
  if (inCluster === null) return fileStore(place);
  return configMapStore(client, inCluster[1]!, inCluster[2]!);
}
