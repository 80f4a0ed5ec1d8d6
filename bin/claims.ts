// `holdfast claims` and `holdfast adopt`, put together: a connection, one look, and what is asked of it.
import { readFileSync, statSync } from "node:fs";

import { claimDetails } from "../src/check/claims/detail.ts";
import { claimRows } from "../src/check/claims/table.ts";
import { describeStep, installClaimDefinition } from "../src/claims/crd.ts";
import { planAdoption } from "../src/claims/moves/adopt.ts";
import { planFile, exportClaims, parseExport } from "../src/claims/moves/export.ts";
import { moveAll, type MovingReport } from "../src/claims/moves/move-all.ts";
import { ClaimsError, type MoveDecision } from "../src/claims/moves/move.ts";
import { readClaims, snapshotIndex, type SnapshotIndex } from "../src/claims/moves/snapshot.ts";
import { planTakeover, refuseBeside } from "../src/claims/moves/takeover.ts";
import { releaseFinalizers } from "../src/claims/uninstall.ts";
import type { Adopt, AdoptRequest } from "../src/cli/adopt.ts";
import type { Claims, ClaimsRequest } from "../src/cli/claims.ts";
import { UsageError } from "../src/cli/cluster-command.ts";
import { connected } from "../src/cli/connection.ts";
import type { Output } from "../src/cli/program.ts";
import { realClock } from "../src/kube/clock.ts";
import type { KubeClient } from "../src/kube/rest.ts";
import { ReservationLedger } from "../src/ledger/reservation/reservation-ledger.ts";

export const claims: Claims = {
  list: (request) =>
    looking(request, (books) => ({ rows: claimRows(books, request), details: claimDetails(books, request) })),
  export: (request) => looking(request, exportClaims),
  takeover: (request, output) =>
    moving(request, output, (books) => {
      refuseBeside(books, { beside: request.beside || request.dryRun });
      return planTakeover(books);
    }),
  installCrd: (request, output) =>
    connected(request, async (client, signal) => {
      const { dryRun } = request;
      output.line(describeStep(await installClaimDefinition({ client, dryRun, signal }), dryRun));
    }),
  releaseFinalizers: (request, output) =>
    connected(request, async (client, signal) => {
      const say = (line: string) => output.line(line);
      await releaseFinalizers({ ...request, client, clock: realClock, say, signal });
    }),
};

export const adopt: Adopt = (request, output) => {
  const plan = planOf(request);
  // Of all namespaces: who lives, and whose an address is, is not a namespace's to say.
  const { namespace: _, ...rest } = request;
  return moving(rest, output, plan);
};

function planOf(request: AdoptRequest): (books: SnapshotIndex) => readonly MoveDecision[] {
  const { network: nic, namespace } = request;
  if (request.kind === "owner") {
    const { from, vm: name } = request;
    return (books) => planAdoption(books, { namespace: request.namespace, name, from, nic });
  }
  const file = parsed(request.file);
  return (books) => planFile(books, { file, namespace, name: request.vm, nic });
}

/** 100,000 claims of 300 bytes are 30 MB. */
const maxFileBytes = 64 * 1024 * 1024;

function parsed(path: string) {
  try {
    if (statSync(path).size > maxFileBytes) throw new Error(`it is larger than ${maxFileBytes} bytes`);
    return parseExport(readFileSync(path, "utf8"), path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(error instanceof ClaimsError ? why : `--file ${path} cannot be read: ${why}`, 1, {
      cause: error,
    });
  }
}

function looking<T>(request: ClaimsRequest, ask: (books: SnapshotIndex) => T): Promise<T> {
  return connected(request, async (client, signal) => ask(snapshotIndex(await look(client, request, signal))));
}

function look(client: KubeClient, { systemNamespace, namespace }: ClaimsRequest, signal: AbortSignal) {
  return readClaims({ client, systemNamespace, namespace, now: Date.now, signal });
}

interface MovingRequest extends ClaimsRequest {
  readonly dryRun: boolean;
}

function moving(
  request: MovingRequest,
  output: Output,
  plan: (books: SnapshotIndex) => readonly MoveDecision[],
): Promise<void> {
  return connected(request, async (client, signal) => {
    const report = await moveAll({
      client,
      ledgerOf: (namespace) => new ReservationLedger({ client, namespace, now: Date.now }),
      clock: realClock,
      signal,
      look: () => look(client, request, signal),
      plan,
      dryRun: request.dryRun,
      say: (line) => output.line(line),
    });
    conclude(report, request.dryRun, output);
  });
}

function conclude({ moved, already, refused }: MovingReport, dryRun: boolean, output: Output): void {
  const all = moved + already + refused;
  if (all === 0) return output.line("There is nothing to do.");
  output.line(`${moved} ${dryRun ? "would be done" : "done"}, ${already} as they must be already, ${refused} refused.`);
  if (dryRun) output.line("Nothing was written: this was a dry run.");
  if (refused > 0)
    throw new UsageError(refused === 1 ? "1 was refused: see above." : `${refused} were refused: see above.`, 1);
}
