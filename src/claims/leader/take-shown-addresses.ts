// Holds addresses that a claim shows and nothing holds: claims that OVN-Kubernetes or a restore brought along.
// Promised: only a free address that has cooled, or this claim's own; none beside whereabouts, as for an ADD. The
// claim's condition says which address cannot be had, and the status keeps it: the guest may use it.
import { allocationReasons, ownershipOf } from "../../api/claims/claim-marks.ts";
import { type ClaimCondition, claimStatus } from "../../api/claims/claim-status.ts";
import { tryAddress } from "../../api/holds/address-name.ts";
import { ensurePool } from "../../cluster/pool-object.ts";
import { ipamClaims, type StoredClaim } from "../../cluster/resources.ts";
import type { AmendableLedger } from "../../ipam/ledger.ts";
import { describeOwner } from "../../ipam/owner.ts";
import { updateStatus } from "../../kube/conditions.ts";
import { adoptPool } from "../../ledger/adoption/adoption.ts";
import type { Address } from "../../net/address.ts";
import { claimOwner } from "../moves/move.ts";
import type { ClaimStep } from "../plan/steps.ts";
import type { ClaimsOptions } from "./leader.ts";
import type { LedgerPlace, LedgerPlaces } from "./ledger-place.ts";

/** The family changed between the look and the write, or something has to pass first. */
export class ClaimChangedError extends Error {
  readonly code = "stale";
  override readonly name = "ClaimChangedError";
}

export interface TakeOptions extends Pick<ClaimsOptions, "client" | "clock"> {
  readonly ledgerOf: (namespace: string) => AmendableLedger;
  readonly placesOf: (signal: AbortSignal) => Promise<LedgerPlaces>;
}

export async function takeShown(
  { claim, addresses, identity, definition }: Extract<ClaimStep, { kind: "take" }>,
  options: TakeOptions,
  signal: AbortSignal,
): Promise<void> {
  const places = await options.placesOf(signal);
  const named = places.ofNetwork(claim.spec.network, claim.metadata.namespace ?? "");
  const definitions = definition === undefined ? named : [definition];
  const asked = { isByHand: ownershipOf(claim).kind === "ownerless" };
  /** Pools that the claim has an address of: it gets one of each. */
  const pools = new Set<string>();
  for (const text of addresses) {
    const address = tryAddress(text.split("/")[0]!);
    const placing = address === undefined ? undefined : places.of(definitions, address, asked);
    if (placing?.kind === "theirs" || (placing?.kind === "place" && pools.has(placing.place.pool))) continue;
    if (placing?.kind === "place") pools.add(placing.place.pool);
    const problem =
      address === undefined
        ? { reason: allocationReasons.other, message: `${JSON.stringify(text)} is no address: correct the status.` }
        : placing?.kind !== "place"
          ? { reason: allocationReasons.outOfRange, message: `${placing?.why ?? ""}.` }
          : await takeOne(claim, address, placing.place, identity, options, signal);
    if (problem !== undefined) return say(claim, problem, options, signal);
  }
}

/** Undefined: it is held now. */
async function takeOne(
  claim: StoredClaim,
  address: Address,
  place: LedgerPlace,
  identity: string | undefined,
  { client, clock, ledgerOf }: TakeOptions,
  signal: AbortSignal,
): Promise<ClaimCondition | undefined> {
  const { namespace, domain, identity: range, naming, l3 } = place;
  const pool = await ensurePool(client, { namespace, identity: range, naming, l3, domain, signal });
  if (!pool.adopted) {
    const { blocking } = await adoptPool(client, { pool, domain, now: () => clock.wallMs(), signal });
    if (blocking.length > 0) return { reason: allocationReasons.other, message: blocking.join(" ") };
  }
  const owner = claimOwner(claim, place.part);
  const why = "it stood in the claim's status, and nothing held it";
  const note = { pool: place.pool, why, ...(identity !== undefined && { identity }) };
  const result = await ledgerOf(namespace).take({ domain, address, owner, note }, { signal });
  if (result.outcome === "taken" || result.outcome === "yours") return undefined;
  // The guest of its last owner may still answer: it cools for this claim like for anybody else.
  if (result.outcome === "cooling") throw new ClaimChangedError(`${address} rests.`);
  const message =
    `${address} stands in the status of this claim and is held for ${describeOwner(result.hold.owner)}: ` +
    `delete one of the two, or take the address out of the status (holdfast who ${address}).`;
  return { reason: allocationReasons.addressConflict, message };
}

async function say(
  claim: StoredClaim,
  condition: ClaimCondition,
  { client, clock }: TakeOptions,
  signal: AbortSignal,
): Promise<void> {
  const before = claim.status;
  const { ips = [], ownerPod } = before ?? {};
  const status = claimStatus({ before, ips, pod: ownerPod?.name, condition, nowMs: clock.wallMs() });
  await updateStatus(client, ipamClaims, claim, status, { signal });
}
