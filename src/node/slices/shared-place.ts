// Where addresses of a sliced range are recorded once they are shared: in the domain that the range's shared pool says.
//
// The pool is made where there is none: who takes from it first would else choose its domain, and with enable_overlapping_ranges false
// that is the pool's own, in which nobody sees what was moved to the network's.
import { formatDomain } from "../../api/domain.ts";
import type { Domain } from "../../ipam/ledger.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { JournalGrant } from "../../ledger/journal/grant.ts";
import { ensurePool } from "../../ledger/pool-object.ts";

export interface SharedPlace {
  readonly domain: Domain;
  /** namespace/name of the shared range's IPPool. */
  readonly pool: string;
}

export async function sharedPlaceOf(
  client: KubeClient,
  { namespace, network, range }: Pick<JournalGrant, "namespace" | "network" | "range">,
  signal: AbortSignal,
): Promise<SharedPlace> {
  const whole = formatDomain({ scope: "network", network });
  const identity = { range, network, node: "" };
  const { name, domain = whole } = await ensurePool(client, { namespace, identity, domain: whole, signal });
  return { domain, pool: `${namespace}/${name}` };
}
