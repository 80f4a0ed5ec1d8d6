// Whether a pool may be served at all, as agents and the labels of its network go by it. Pure.
import type { NetworkAttachmentDefinition, StoredManagedPool } from "../../cluster/resources.ts";
import { type DeepReadonly, type ObjectKey } from "../../kube/meta.ts";
import { examinePool, type Trusted } from "../rules/examine-pool.ts";
import { describeIssue, describePool, Issues } from "../rules/issue.ts";
import { readNetworkRef } from "../rules/network-ref.ts";
import { readPool } from "../rules/read-pool.ts";
import type { Obstacle } from "./status.ts";

type Pool = DeepReadonly<StoredManagedPool>;

/** namespace/name; empty: it names nothing that can exist. */
export function networkKeyOf({ spec }: Pool): ObjectKey {
  const text = typeof spec?.networkName === "string" ? spec.networkName : undefined;
  return readNetworkRef(text, "spec.networkName", new Issues())?.key ?? "";
}

/** Undefined: it may be served. `others`: the pools of its network. */
export function obstacleOf(
  pool: Pool,
  network: DeepReadonly<NetworkAttachmentDefinition> | undefined,
  others: readonly Pool[],
  trusted: Trusted,
): Obstacle | undefined {
  if (network === undefined) {
    const message = `NetworkAttachmentDefinition ${networkKeyOf(pool)} does not exist: create it, or correct spec.networkName of the pool.`;
    return { reason: "NetworkMissing", message };
  }
  const { plan, issues } = readPool(pool);
  const beside = plan && {
    plan,
    definition: { config: network.spec?.config ?? "" },
    others: others.flatMap((each) => readPool(each).plan ?? []),
    clusterRanges: [],
    trusted,
  };
  const fault = [...issues, ...(beside ? examinePool(beside) : [])].find(({ weight }) => weight === "error");
  if (fault === undefined) return undefined;
  return { reason: "PoolRefused", message: describeIssue(describePool(pool.metadata), fault) };
}
