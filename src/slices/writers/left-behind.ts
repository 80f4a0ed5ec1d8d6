// When a slice is taken from a node that is off, the holds of its mirror go into the reservation ledger first, owners
// unchanged: the next node leaves them out until leak collection (src/pools/leaks/judge.ts) finds their pods gone.
// Promised: where a record is refused it throws, and the slice stays its node's. Not promised: holds that the mirror
// does not show. That is why the node had to be silent, and somebody had to say that it is off.
import { parseObject } from "../../api/kind.ts";
import { readAllocations } from "../../api/pools/allocations.ts";
import { formatDomain } from "../../api/pools/domain.ts";
import { ipPoolKind } from "../../api/pools/ip-pool.ts";
import { domainUnder, markedDomain } from "../../api/pools/pool-domain.ts";
import { settlePool } from "../../cluster/pool-object.ts";
import type { StoredPool } from "../../cluster/resources.ts";
import type { SlicePlace } from "../../cluster/slice-object.ts";
import { LedgerError } from "../../ipam/ledger.ts";
import { isApiError, isNamespaceEnding } from "../../kube/errors.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { ReservationLedger } from "../../ledger/reservation/reservation-ledger.ts";
import type { ReservedAddresses } from "../reserved-addresses.ts";

/** One record is a write of some 4 ms. */
const atOnce = 16;

export async function recordLeft(
  given: { readonly client: KubeClient; readonly reserved: ReservedAddresses; readonly nowMs: () => number },
  { namespace, network, range, node }: SlicePlace,
  object: StoredPool,
  signal: AbortSignal,
): Promise<void> {
  const { client, reserved, nowMs: now } = given;
  const pool = parseObject(ipPoolKind, object);
  // An unreadable entry is no offset, or leads out of the block: it has no address.
  const { entries } = readAllocations(pool);
  // Of a key with several readings all are held: one of them is in use.
  const held = entries.flatMap(({ others, ...each }) => [each, ...others.map((address) => ({ ...each, address }))]);
  if (held.length === 0) return;
  const wanted = markedDomain(pool) ?? formatDomain({ scope: "network", network });
  try {
    const identity = { range, network, node: "" };
    const under = (own: string) => domainUnder(wanted, { namespace, name: own });
    const { domain, name } = await settlePool(client, { namespace, identity, wanted: under, signal });
    const ledger = new ReservationLedger({ client, namespace, node, now });
    const note = { pool: `${namespace}/${name}` };
    for (let first = 0; first < held.length; first += atOnce) {
      const some = held.slice(first, first + atOnce);
      // An address that is recorded for another owner stays taken by that record.
      await Promise.all(some.map((each) => ledger.take({ ...each, domain, early: true, note }, { signal })));
    }
  } catch (error) {
    // Its namespace is gone or going, and nobody is given anything there.
    const cause = error instanceof LedgerError ? error.cause : error;
    if (isApiError(cause, "forbidden") && !isNamespaceEnding(cause)) {
      const what = `What node ${node} held in its slice may not be recorded in namespace ${namespace}, so that the slice stays its own`;
      const remedy = "raise the quota, or mend the policy or the right that the API server names";
      throw new Error(`${what}: ${remedy}. ${cause.message}`, { cause: error });
    }
    if (!isApiError(error, "not-found") && !isNamespaceEnding(cause)) throw error;
  }
  await reserved.refresh(signal);
}
