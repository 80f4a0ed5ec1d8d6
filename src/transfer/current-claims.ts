// What claims have become since a migration. Going back takes it along: a VM that was started or migrated meanwhile has other pods than the record says,
// and a claim that was made anew has another UID, while the address is the same. Pure.
import { coolingOf, networkAnnotation, ownerKindAnnotation, poolAnnotation } from "../api/holds/hold-marks.ts";
import type { Plan } from "./plan/plan.ts";
import { objectId, type Survey } from "./plan/survey.ts";
import type { AddressObject } from "./record/record-object.ts";

/** The plan, with every claim's old record as its new one is now. A record that rests or is no claim's any more stays as it was. */
export function withCurrentClaims(plan: Plan, survey: Survey): Plan {
  const there = new Map([...survey.reservations, ...survey.holds].map((each) => [objectId(each), each]));
  const records = plan.records.map((move) => {
    const now = move.after && there.get(objectId(move.after));
    const isCarried = now !== undefined && isClaims(now) && isClaims(move.before);
    return isCarried ? { ...move, before: asBefore(move.before, now) } : move;
  });
  return { ...plan, records };
}

export function isClaims({ metadata, ...object }: AddressObject): boolean {
  if (coolingOf(metadata) !== undefined) return false;
  if (object.kind === "Hold") return object.spec.owner.kind === "claim";
  return metadata.annotations?.[ownerKindAnnotation] === "claim";
}

/** Its place is the old one: name, namespace, network and pool. All else is as it is now. */
function asBefore(before: AddressObject, now: AddressObject): AddressObject {
  const { [networkAnnotation]: _network, [poolAnnotation]: _pool, ...rest } = now.metadata.annotations ?? {};
  const { [networkAnnotation]: network, [poolAnnotation]: pool } = before.metadata.annotations ?? {};
  const annotations = {
    ...rest,
    ...(network !== undefined && { [networkAnnotation]: network }),
    ...(pool !== undefined && { [poolAnnotation]: pool }),
  };
  const { labels } = now.metadata;
  const metadata = { ...before.metadata, ...(labels && { labels }), annotations };
  if (before.kind === "Hold") {
    return now.kind === "Hold" ? { ...before, metadata, spec: { ...now.spec, domain: before.spec.domain } } : before;
  }
  return now.kind === "Hold" ? before : { ...before, metadata, spec: now.spec };
}
