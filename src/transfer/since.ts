// What happened at the destination since a migration: what was given there, and would be forgotten by going back, and
// what claims have become, which going back takes along. A VM that was started or migrated meanwhile has other pods
// than the record says, and a claim made anew has another UID, while the address is the same. Pure.
import { coolingOf, networkAnnotation, ownerKindAnnotation, poolAnnotation } from "../api/holds/hold-marks.ts";
import { readAllocations } from "../api/pools/allocations.ts";
import { keyOf, picked, type KubeObject } from "../kube/meta.ts";
import { networkDomain } from "./plan/goal.ts";
import { originalsOf, type Plan } from "./plan/plan.ts";
import { domainOf } from "./plan/record-moves.ts";
import { hasSameContent } from "./plan/same.ts";
import { objectId, type Survey } from "./plan/survey.ts";
import { type AddressObject, type AddressRecord, ownerText, readRecord } from "./record/record-object.ts";

/** Records at the destination that the plan does not put there. */
export function standingRecords(survey: Survey, plan: Plan): string[] {
  const moved = new Set(
    plan.records.flatMap(({ before, after }) => [before, after]).flatMap((each) => (each ? [objectId(each)] : [])),
  );
  return recordsAt(survey, plan)
    .filter(({ object }) => !moved.has(objectId(object)))
    .map(standingOf);
}

/** One line for each address that was given since. */
export function givenSince(survey: Survey, plan: Plan, standing: readonly string[]): string[] {
  const known = new Set(standing);
  const carried = new Set<string>();
  for (const { before, after } of plan.records) {
    if (after === undefined) continue;
    known.add(`${objectId(after)} ${ownerText(after)}`);
    if (isClaims(before)) carried.add(objectId(after));
  }
  const records = recordsAt(survey, plan)
    .filter((record) => !record.isCooling && !known.has(standingOf(record)))
    // Whatever claim has it now, going back takes it along.
    .filter(({ object }) => !(carried.has(objectId(object)) && isClaims(object)))
    .map(({ address, owner, object }) => `${address} ${owner} (${objectId(object)})`);
  const seen = new Set(records.map((line) => line.split(" ")[0]));
  const entries = plan.pools.flatMap(({ after }) => {
    const pool = survey.pools.find((each) => keyOf(each) === keyOf(after));
    if (pool === undefined) return [];
    const before = new Map(readAllocations(after).entries.map(({ address, owner }) => [`${address}`, owner.name]));
    return readAllocations(pool).entries.flatMap(({ address, owner }) =>
      before.get(`${address}`) === owner.name || seen.has(`${address}`)
        ? []
        : [`${address} ${owner.namespace}/${owner.name} (${objectId(pool)})`],
    );
  });
  return [...records, ...entries];
}

/** Objects under the old names that are not the old ones. */
export function namesTakenSince(survey: Survey, plan: Plan): string[] {
  const there = new Map(
    [...survey.pools, ...survey.reservations, ...survey.holds].map((each) => [objectId(each), each]),
  );
  return originalsOf(plan).flatMap((original) => {
    const now = there.get(objectId(original));
    const isSame =
      now === undefined ||
      now.metadata.uid === original.metadata.uid ||
      hasSameContent(original as KubeObject, now as KubeObject);
    return isSame ? [] : [objectId(now)];
  });
}

/** Where the plan puts records: domains of networks, and pools that are domains of their own. */
function destinationsOf(plan: Plan) {
  const networks = new Set<string>();
  const pools = new Set<string>();
  for (const { after } of plan.pools) pools.add(keyOf(after));
  for (const { after } of [...plan.pools, ...plan.records]) {
    if (after !== undefined && after.kind !== "Hold") networks.add(domainOf(after));
  }
  return { networks, pools };
}

function recordsAt(survey: Survey, plan: Plan): AddressRecord[] {
  const { networks, pools } = destinationsOf(plan);
  const names = new Set([...networks].map((key) => key.slice(key.indexOf(":") + 1)));
  return [...survey.reservations, ...survey.holds].flatMap((object) => {
    const record = readRecord(object, names);
    if (typeof record === "string") return [];
    const { namespace, network = "", poolDomain } = record;
    const isThere =
      poolDomain === undefined ? networks.has(networkDomain({ namespace, network })) : pools.has(poolDomain);
    return isThere ? [record] : [];
  });
}

const standingOf = ({ object, owner }: AddressRecord) => `${objectId(object)} ${owner}`;

/** The plan, with every claim's old record as its new one is now. One that rests or is no claim's any more stays. */
export function withCurrentClaims(plan: Plan, survey: Survey): Plan {
  const there = new Map([...survey.reservations, ...survey.holds].map((each) => [objectId(each), each]));
  const records = plan.records.map((move) => {
    const now = move.after && there.get(objectId(move.after));
    const isCarried = now !== undefined && isClaims(now) && isClaims(move.before);
    return isCarried ? { ...move, before: asBefore(move.before, now) } : move;
  });
  return { ...plan, records };
}

function isClaims({ metadata, ...object }: AddressObject): boolean {
  if (coolingOf(metadata) !== undefined) return false;
  if (object.kind === "Hold") return object.spec.owner.kind === "claim";
  return metadata.annotations?.[ownerKindAnnotation] === "claim";
}

/** Its place is the old one: name, namespace, network and pool. All else is as it is now. */
function asBefore(before: AddressObject, now: AddressObject): AddressObject {
  const { [networkAnnotation]: _network, [poolAnnotation]: _pool, ...rest } = now.metadata.annotations ?? {};
  const annotations = { ...rest, ...picked(before.metadata.annotations, networkAnnotation, poolAnnotation) };
  const metadata = { ...before.metadata, ...picked(now.metadata, "labels"), annotations };
  if (before.kind === "Hold")
    return now.kind === "Hold" ? { ...before, metadata, spec: { ...now.spec, domain: before.spec.domain } } : before;
  return now.kind === "Hold" ? before : { ...before, metadata, spec: now.spec };
}
