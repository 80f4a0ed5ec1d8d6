// A move as the commands make it, in this process, so that a story can stand in its way.
import type { MovingOptions } from "../../src/claims/moves/move-all.ts";
import type { MoveDecision } from "../../src/claims/moves/move.ts";
import { readClaims, type SnapshotIndex } from "../../src/claims/moves/snapshot.ts";
import { realClock } from "../../src/kube/clock.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";

export function movingOptions(
  client: KubeClient,
  plan: (books: SnapshotIndex) => readonly MoveDecision[],
): MovingOptions {
  const { signal } = new AbortController();
  return {
    client,
    ledgerOf: (namespace) => new ReservationLedger({ client, namespace, now: Date.now }),
    clock: realClock,
    signal,
    look: () => readClaims({ client, systemNamespace: "kube-system", now: Date.now, signal }),
    plan,
    dryRun: false,
    say: () => {},
  };
}
