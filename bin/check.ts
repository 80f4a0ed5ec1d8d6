// `holdfast check`, `pools` and `who`, put together: a connection, one snapshot, and what is asked of it.
import type { CheckedFinding, CheckOptions } from "../src/cli/check.ts";
import type { LookOptions } from "../src/cli/pools.ts";
import { realClock } from "../src/kube/clock.ts";
import type { KubeClient } from "../src/kube/rest.ts";
import { ReservationLedger } from "../src/ledger/reservation-ledger.ts";
import { fetchState, readState } from "../src/ledger/state.ts";
import { examine } from "../src/pools/examine.ts";
import { defaultLimits } from "../src/pools/judge.ts";
import { repair } from "../src/pools/repair.ts";
import { readSnapshot, type Snapshot } from "../src/pools/snapshot.ts";
import { type PoolRow, poolRows } from "../src/pools/table.ts";
import { type Answer, type Asked, whoHolds } from "../src/pools/who.ts";
import { connected } from "./connected.ts";

export async function check(options: CheckOptions): Promise<readonly CheckedFinding[]> {
  return connected(options, async (client, signal) => {
    const snapshot = await snapshotOf(client, options, signal);
    const findings = examine(snapshot);
    if (!options.repair) return findings;
    const { systemNamespace, observeMs, cooldownMs, allowMassRelease } = options;
    const { coexistence, paused } = readState(await fetchState(client, { namespace: systemNamespace, signal }));
    const ledgerOf = (namespace: string, node = "") =>
      new ReservationLedger({ client, namespace, node, now: Date.now, coexistence: () => coexistence });
    const limits = { ...defaultLimits, observeMs };
    const common = {
      client,
      ledgerOf,
      clock: realClock,
      cooldownMs,
      coexistence,
      paused,
      limits,
      allowMassRelease,
      signal,
    };
    const repaired = new Map((await repair(snapshot, findings, common)).map((each) => [each.finding, each]));
    return findings.map((finding) => {
      const done = repaired.get(finding);
      return done === undefined ? finding : { ...finding, repaired: { isDone: done.isDone, words: done.words } };
    });
  });
}

export async function pools(options: LookOptions): Promise<readonly PoolRow[]> {
  return connected(options, async (client, signal) => poolRows(await snapshotOf(client, options, signal)));
}

export async function who(options: LookOptions, asked: Asked): Promise<readonly Answer[]> {
  return connected(options, async (client, signal) => whoHolds(await snapshotOf(client, options, signal), asked));
}

function snapshotOf(client: KubeClient, { systemNamespace }: LookOptions, signal: AbortSignal): Promise<Snapshot> {
  return readSnapshot({ client, systemNamespace, now: Date.now, signal });
}
