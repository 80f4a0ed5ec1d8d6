// Lets go of every claim before Holdfast is removed: our finalizer falls, the claim and its status stay. Promised:
// changes our finalizer only, each at the version that was read. Refuses while a controller leads, which would put them
// back. Not promised: that a VM keeps its address afterwards: lost protections are said before anything is written.
import { claimFinalizer } from "../api/claims/claim-marks.ts";
import { describeObject } from "../api/metadata.ts";
import { ipamClaims, leases, type StoredClaim } from "../cluster/resources.ts";
import { type ConfirmedAccess, controllerLease } from "../cluster/state.ts";
import { sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import { hasFinalizer, removeFinalizer } from "../kube/finalizer.ts";
import type { KubeClient } from "../kube/rest.ts";
import { counted } from "../net/counted.ts";
import { ClaimsError } from "./moves/move.ts";

/** A leader renews every 2 s. 1.5 times the lease's 15 s; clocks of different machines are not compared. */
const observeMs = 23_000;
const lookEveryMs = 1000;
/** A claim that others write at the same time is read again; four writers at once are more than there are. */
const maxRounds = 5;

/** How many were let go. */
export async function releaseFinalizers(options: ConfirmedAccess): Promise<number> {
  const { client, dryRun, isConfirmed, say, signal } = options;
  // A cluster without the kind has no claims.
  const all = await client.listAll(ipamClaims, { signal });
  const ours = all.filter((claim) => hasFinalizer(claim, claimFinalizer));
  for (const line of forecast(ours)) say(line);
  if (dryRun || ours.length === 0) return 0;
  if (!isConfirmed) {
    throw new ClaimsError("not-confirmed", "Nothing was written: give --yes to let go of these claims.");
  }
  await assertNobodyLeads(options);
  let count = 0;
  for (const claim of ours) if (await release(client, claim, signal)) count += 1;
  say(`${counted(count, "claim was", "claims were")} let go, and kept with the addresses in the status.`);
  return count;
}

function forecast(claims: readonly StoredClaim[]): string[] {
  if (claims.length === 0) return [`No claim carries the finalizer ${claimFinalizer}: there is nothing to let go of.`];
  const ends = claims.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const lines = claims.map((claim) => {
    const addresses = claim.status?.ips.join(", ") || "no address";
    const end = claim.metadata.deletionTimestamp === undefined ? "" : ", is being deleted";
    return `${describeObject("IPAMClaim", claim.metadata)}: ${addresses}${end}`;
  });
  return [
    ...lines,
    `${counted(claims.length, "claim loses", "claims lose")} the finalizer ${claimFinalizer}. From then on a delete ends ` +
      "a claim, also while its VM runs, and whatever hands out addresses next may give its address to another.",
    ...(ends.length === 0 ? [] : [`Being deleted, and gone at once: ${ends.length}.`]),
  ];
}

/** Looks at the Lease for longer than it lives: one that somebody renews meanwhile is led by. */
async function assertNobodyLeads(options: ConfirmedAccess): Promise<void> {
  const { clock, signal, say, systemNamespace } = options;
  const first = await renewal(options);
  if (first === undefined) return;
  say(
    `Watching Lease ${systemNamespace}/${controllerLease} for ${observeMs / 1000} s, whether a controller still leads.`,
  );
  const endMs = clock.monotonicMs() + observeMs;
  while (clock.monotonicMs() < endMs) {
    if (!(await sleep(clock, lookEveryMs, signal))) throw signal.reason;
    const now = await renewal(options);
    if (now === undefined) return;
    if (now === first) continue;
    throw new ClaimsError(
      "controller-leads",
      `A controller leads (Lease ${systemNamespace}/${controllerLease}) and would put the finalizers back: end it first, ` +
        `kubectl -n ${systemNamespace} scale deployment/holdfast-controller --replicas=0, then try again. ` +
        "Where `holdfast up` leads, there is nothing to let go of: its claims end with its data folder.",
    );
  }
}

/** Undefined: nobody holds it. */
async function renewal({ client, systemNamespace, signal }: ConfirmedAccess) {
  const lease = await client.lookUp(leases, { namespace: systemNamespace, name: controllerLease }, { signal });
  const { holderIdentity = "", renewTime = "" } = lease?.spec ?? {};
  return holderIdentity === "" ? undefined : `${holderIdentity} ${renewTime}`;
}

/** False if it is gone, or had none any more. */
async function release(client: KubeClient, claim: StoredClaim, signal: AbortSignal): Promise<boolean> {
  const { namespace = "", name = "" } = claim.metadata;
  let current: StoredClaim | undefined = claim;
  for (let round = 0; round < maxRounds && current !== undefined; round++) {
    try {
      return await removeFinalizer(client, ipamClaims, current, claimFinalizer, { signal });
    } catch (error) {
      if (!isApiError(error, "invalid", "conflict", "outcome-unknown") || signal.aborted) throw error;
      current = await client.lookUp(ipamClaims, { namespace, name }, { signal });
    }
  }
  if (current === undefined) return false;
  throw new ClaimsError(
    "keeps-changing",
    `${describeObject("IPAMClaim", claim.metadata)} was changed by others ${maxRounds} times in a row: find out by whom, and try again.`,
  );
}
