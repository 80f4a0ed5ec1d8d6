// Who arbitrates what is shared of a sliced range: its floating part, what its slices gave back. Definitions may
// disagree about that, so the leader settles it on the IPPool of the whole range; a domain that is there already wins.
// Promised: afterwards nobody takes from the floating part's own IPPool by the records of another domain.
import { isPoolDomain } from "../../api/pools/domain.ts";
import { domainUnder } from "../../api/pools/pool-domain.ts";
import { settlePool } from "../../cluster/pool-object.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { PoolTarget } from "../ranges/pool-targets.ts";

/** A target without a shared domain has nobody who shares: nothing is done. */
export async function settleShared(
  client: KubeClient,
  { namespace, network, range, sharedDomain }: PoolTarget,
  floating: Prefix | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (sharedDomain === undefined) return;
  const wanted = (name: string) => domainUnder(sharedDomain, { namespace, name });
  const whole = await settlePool(client, { namespace, identity: { range, network, node: "" }, wanted, signal });
  // Who protects overlaps takes of the part's pool by the network's records, as all others do then.
  if (floating === undefined || !isPoolDomain(whole.domain)) return;
  const identity = { range: floating, network, node: "" };
  const part = await settlePool(client, { namespace, identity, wanted: () => whole.domain, signal });
  if (part.domain === whole.domain) return;
  const what = `IPPool ${namespace}/${whole.name} is handed out in the domain ${whole.domain}, and ${namespace}/${part.name}, of its floating part, in ${part.domain}`;
  const remedy = "An address could be given by both: when nothing of one of them is held, delete that one.";
  throw new Error(`${what}. ${remedy}`);
}
