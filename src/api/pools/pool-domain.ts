// In which domain a pool is handed out of, for all its networks: its annotation holdfast.io/domain. Pure. The records
// of a domain arbitrate (decision 0011). Two networks that use one pool, the one with enable_overlapping_ranges and the
// other without, would have two arbiters: both could give an address. So the first that uses the pool marks it.
import type { Domain } from "../../ipam/ledger.ts";
import { attempt } from "../../net/coded-error.ts";
import { ObjectError } from "../error.ts";
import { adoptedAnnotation, domainAnnotation } from "../holds/hold-marks.ts";
import type { ReadMetadata } from "../metadata.ts";
import { domainOfPool, type DomainRule, formatDomain, parseDomain } from "./domain.ts";

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

/** One that asks for its pool alone goes along with the whole network. Undefined: it asks for more, and is refused. */
export function settledDomain(rule: DomainRule, marked: Domain | undefined): Domain | undefined {
  const own = domainOfPool(rule);
  if (marked === undefined || marked === own) return own;
  const whole = formatDomain({ scope: "network", network: rule.network });
  return !rule.protectsOverlaps && marked === whole ? whole : undefined;
}
