// In which domain a pool is handed out of, for all its networks: its annotation holdfast.io/domain. Pure. The records
// of a domain arbitrate (decision 0011). Two networks that use one pool, the one with enable_overlapping_ranges and the
// other without, would have two arbiters: both could give an address. So the first that uses the pool marks it.
import type { Domain } from "../../ipam/ledger.ts";
import { attempt } from "../../net/coded-error.ts";
import { ObjectError } from "../error.ts";
import { adoptedAnnotation, domainAnnotation } from "../holds/hold-marks.ts";
import type { ReadMetadata } from "../metadata.ts";
import { domainOfPool, type DomainRule, formatDomain, isPoolDomain, parseDomain } from "./domain.ts";

interface Annotated {
  readonly metadata: Pick<ReadMetadata, "annotations">;
}

/** Undefined: nobody has said it yet, or not in words that mean a domain. */
export function markedDomain({ metadata }: Annotated): Domain | undefined {
  const domain = metadata.annotations?.[domainAnnotation] ?? "";
  return attempt(ObjectError, () => parseDomain(domain)) && domain;
}

/** Every entry has its hold in the domain that the pool says: addresses may be handed out of it. */
export function isAdopted(pool: Annotated): boolean {
  return (pool.metadata.annotations?.[adoptedAnnotation] ?? "") !== "" && markedDomain(pool) !== undefined;
}

export interface SettlingRule extends DomainRule {
  /**
   * Whose definition it is may make the pool a domain of its own, for all who use it. Who may not has that only where
   * it is on record: else any tenant could keep everybody from the pool.
   */
  readonly mayStandAlone: boolean;
}

/** A pool that is a domain of its own is so under the name that it has. */
export function domainUnder(domain: Domain, pool: DomainRule["pool"]): Domain {
  return isPoolDomain(domain) ? formatDomain({ scope: "pool", ...pool }) : domain;
}

/** One that asks for its pool alone goes along with the whole network. Undefined: it asks for more, and is refused. */
export function settledDomain(rule: SettlingRule, marked: Domain | undefined): Domain | undefined {
  const own = domainOfPool(rule);
  const whole = formatDomain({ scope: "network", network: rule.network });
  if (marked === undefined) return rule.mayStandAlone ? own : whole;
  if (marked === own) return own;
  return !rule.protectsOverlaps && marked === whole ? whole : undefined;
}
