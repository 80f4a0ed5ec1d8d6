// Whether a pool that was found by its name is the one that was meant. Different pools can have equal names
// (pool-name.ts); two networks that share one unknowingly would be one domain, or worse, two ranges under one set of
// offsets.
import { comparePrefixes } from "../../net/prefix.ts";
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
 * Refuses a pool of the same name that is another's: its range differs, or its annotations say so. A pool of
 * whereabouts has no annotations; there the range alone decides, and a namesake of the same range cannot be told.
 */
export function assertPoolIs(pool: IPPool, identity: PoolIdentity): void {
  const { [networkAnnotation]: network, [nodeAnnotation]: node } = pool.metadata.annotations ?? {};
  const isSame =
    comparePrefixes(parseRange(pool.spec.range).prefix, identity.range) === 0 &&
    (network ?? identity.network) === identity.network &&
    (node ?? identity.node) === identity.node;
  if (isSame) return;
  const has = [`range ${pool.spec.range}`, network && `network ${network}`, node && `node ${node}`].filter(Boolean);
  const wanted = `wanted is ${describeIdentity(identity)}, whose name is the same`;
  const remedy = "Change network_name, or choose another pool_naming.";
  const words = `${describeObject("IPPool", pool.metadata)} has ${has.join(", ")}; ${wanted}. ${remedy}`;
  throw new ObjectError("name-taken", words);
}
