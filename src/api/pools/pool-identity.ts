// Whether a pool that was found by its name is the one that was meant. Names of different pools can be equal (pool-name.ts);
// two networks that share a pool without knowing it would be one domain, or worse, two ranges under one set of offsets.
import { compare } from "../../net/address.ts";
import { ObjectError } from "../error.ts";
import { networkAnnotation } from "../holds/hold-marks.ts";
import { holdfastGroup } from "../kind.ts";
import { describeObject } from "../metadata.ts";
import type { IPPool } from "./ip-pool.ts";
import { describeIdentity, type PoolIdentity } from "./pool-name.ts";
import { parseRange } from "./range.ts";

const nodeAnnotation = `${holdfastGroup}/node`;

/** What a pool of ours carries, so that it can be told from a namesake; whereabouts ignores it. */
export function identityAnnotations({ network, node }: PoolIdentity): Record<string, string> {
  return { [networkAnnotation]: network, [nodeAnnotation]: node };
}

/**
 * Refuses a pool of the same name that is another's: its range differs, or its annotations say so. A pool of whereabouts has
 * no annotations; there the range alone decides, and a namesake of the same range cannot be told.
 */
export function assertPoolIs(pool: IPPool, identity: PoolIdentity): void {
  const { prefix } = parseRange(pool.spec.range);
  const annotations = pool.metadata.annotations ?? {};
  const same =
    compare(prefix.network, identity.range.network) === 0 &&
    prefix.length === identity.range.length &&
    (annotations[networkAnnotation] ?? identity.network) === identity.network &&
    (annotations[nodeAnnotation] ?? identity.node) === identity.node;
  if (same) return;
  const { [networkAnnotation]: network, [nodeAnnotation]: node } = annotations;
  const has = [`range ${pool.spec.range}`, network && `network ${network}`, node && `node ${node}`].filter(Boolean);
  throw new ObjectError(
    "name-taken",
    `${describeObject("IPPool", pool.metadata)} has ${has.join(", ")}; wanted is ${describeIdentity(identity)}, ` +
      "whose name is the same. Change network_name, or choose another pool_naming.",
  );
}
