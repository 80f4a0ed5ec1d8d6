// `holdfast check`, put together: a connection, two snapshots, and what does not fit together.
import { examine } from "../src/check/examine.ts";
import { examineClaims } from "../src/check/examine/claims.ts";
import { repair, repairClaims, repairedAddresses } from "../src/check/repair.ts";
import { readSnapshot } from "../src/check/snapshot.ts";
import { examineVmNetworks } from "../src/check/vmnet/examine.ts";
import { readVmNetworksCheck } from "../src/check/vmnet/snapshot.ts";
import { readClaims, snapshotIndex } from "../src/claims/moves/snapshot.ts";
import type { CheckedFinding, CheckOptions } from "../src/cli/check.ts";
import { examineCoexistence, readCoexistence } from "../src/cli/coexistence-word.ts";
import { connected } from "../src/cli/connection.ts";
import { fetchState, readState } from "../src/cluster/state.ts";
import { realClock } from "../src/kube/clock.ts";
import type { KubeClient } from "../src/kube/rest.ts";
import { defaultUpstreamNamespaces } from "../src/ledger/coexistence/upstream.ts";
import { ReservationLedger } from "../src/ledger/reservation/reservation-ledger.ts";
import { defaultLimits } from "../src/pools/leaks/judge.ts";

export async function check(options: CheckOptions): Promise<readonly CheckedFinding[]> {
  return connected(options, async (client, signal) => {
    const { systemNamespace } = options;
    const claims = await readClaims({ client, systemNamespace, now: Date.now, signal });
    const aboutClaims = examineClaims(snapshotIndex(claims));
    const repairedClaims = options.repair
      ? await repairClaims(claims, aboutClaims, { client, ledgerOf: ledgersOf(client), clock: realClock, signal })
      : undefined;
    const toldClaims = aboutClaims.map((finding): CheckedFinding => {
      const { repair: _, ...told } = finding;
      return withRepair(told, repairedClaims?.get(finding));
    });
    const given = { systemNamespace, whereaboutsNamespaces: defaultUpstreamNamespaces };
    const coexistence = await readCoexistence({ client, clock: realClock, signal }, given);
    const aboutCoexistence = examineCoexistence(coexistence, systemNamespace);
    return [
      ...aboutCoexistence,
      ...toldClaims,
      ...examineVmNetworks(await readVmNetworksCheck({ client, systemNamespace, now: Date.now, signal })),
      ...(await checkPools(client, options, repairedAddresses(aboutClaims), signal)),
    ];
  });
}

/** `ofClaims`: addresses, each behind its domain, that are a claim's to hold although a pod uses them. */
async function checkPools(
  client: KubeClient,
  options: CheckOptions,
  ofClaims: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly CheckedFinding[]> {
  const { systemNamespace, observeMs, cooldownMs, allowMassRelease } = options;
  const snapshot = await readSnapshot({ client, systemNamespace, now: Date.now, signal });
  const findings = examine(snapshot).filter(
    ({ repair: what }) => what?.kind !== "take" || !ofClaims.has(`${what.request.domain} ${what.request.address}`),
  );
  if (!options.repair) return findings;
  const { coexistence, paused } = readState(await fetchState(client, { namespace: systemNamespace, signal }));
  const ledgerOf = ledgersOf(client, () => coexistence);
  const limits = { ...defaultLimits, observeMs };
  const given = {
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
  const repaired = new Map((await repair(snapshot, findings, given)).map((each) => [each.finding, each]));
  return findings.map((finding) => withRepair(finding, repaired.get(finding)));
}

function withRepair(finding: CheckedFinding, done: { isDone: boolean; words: string } | undefined): CheckedFinding {
  return done === undefined ? finding : { ...finding, repaired: { isDone: done.isDone, words: done.words } };
}

function ledgersOf(client: KubeClient, coexistence: () => boolean = () => false) {
  return (namespace: string, node = "") =>
    new ReservationLedger({ client, namespace, node, now: Date.now, coexistence });
}
