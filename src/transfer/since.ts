// What was given at the destination since a migration: what going back would forget.
import { networkAnnotation } from "../api/holds/hold-marks.ts";
import { describeObject } from "../api/metadata.ts";
import { readAllocations } from "../api/pools/allocations.ts";
import type { KubeObject } from "../kube/meta.ts";
import { isClaims } from "./current-claims.ts";
import { networkDomain } from "./plan/domain-key.ts";
import type { Plan } from "./plan/plan.ts";
import { hasSameContent } from "./plan/same.ts";
import { objectId, objectKey, type Survey } from "./plan/survey.ts";
import { type AddressRecord, ownerText, readRecord } from "./record/record-object.ts";

/** Where the plan puts records: domains of networks, and pools that are domains of their own. */
interface Destinations {
  readonly networks: ReadonlySet<string>;
  readonly pools: ReadonlySet<string>;
}

/** Records at the destination that the plan does not put there. */
export function standingRecords(survey: Survey, plan: Plan): string[] {
  const moved = new Set(
    plan.records.flatMap(({ before, after }) => [before, after]).flatMap((each) => (each ? [objectId(each)] : [])),
  );
  return recordsAt(survey, destinationsOf(plan))
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
  const records = recordsAt(survey, destinationsOf(plan))
    .filter((record) => !record.isCooling && !known.has(standingOf(record)))
    // Whatever claim has it now, going back takes it along.
    .filter(({ object }) => !(carried.has(objectId(object)) && isClaims(object)))
    .map(({ address, owner, object }) => `${address} ${owner} (${describeObject(object.kind, object.metadata)})`);
  const seen = new Set(records.map((line) => line.split(" ")[0]));
  const entries = plan.pools.flatMap(({ after }) => {
    const pool = survey.pools.find((each) => objectKey(each) === objectKey(after));
    if (pool === undefined) return [];
    const before = new Map(readAllocations(after).entries.map(({ address, owner }) => [`${address}`, owner.name]));
    return readAllocations(pool).entries.flatMap(({ address, owner }) =>
      before.get(`${address}`) === owner.name || seen.has(`${address}`)
        ? []
        : [`${address} ${owner.namespace}/${owner.name} (${describeObject("IPPool", pool.metadata)})`],
    );
  });
  return [...records, ...entries];
}

/** Objects under the old names that are not the old ones. */
export function namesTakenSince(survey: Survey, plan: Plan): string[] {
  const there = new Map(
    [...survey.pools, ...survey.reservations, ...survey.holds].map((each) => [objectId(each), each]),
  );
  const originals = [...plan.records.map(({ before }) => before), ...plan.pools.flatMap(({ from }) => from)];
  return originals.flatMap((original) => {
    const now = there.get(objectId(original));
    const isSame =
      now === undefined ||
      now.metadata.uid === original.metadata.uid ||
      hasSameContent(original as KubeObject, now as KubeObject);
    return isSame ? [] : [describeObject(now.kind, now.metadata)];
  });
}

function destinationsOf(plan: Plan): Destinations {
  const networks = new Set<string>();
  const pools = new Set<string>();
  for (const { after } of plan.pools) {
    networks.add(networkDomain(after.metadata.namespace ?? "", after.metadata.annotations?.[networkAnnotation] ?? ""));
    pools.add(objectKey(after));
  }
  for (const { after } of plan.records) {
    if (after === undefined || after.kind === "Hold") continue;
    networks.add(networkDomain(after.metadata.namespace ?? "", after.metadata.annotations?.[networkAnnotation] ?? ""));
  }
  return { networks, pools };
}

function recordsAt(survey: Survey, { networks, pools }: Destinations): AddressRecord[] {
  const names = new Set([...networks].map((key) => key.slice(key.indexOf(":") + 1)));
  return [...survey.reservations, ...survey.holds].flatMap((object) => {
    const record = readRecord(object, names);
    if (typeof record === "string") return [];
    const isThere =
      record.poolDomain === undefined
        ? networks.has(networkDomain(record.namespace, record.network ?? ""))
        : pools.has(record.poolDomain);
    return isThere ? [record] : [];
  });
}

const standingOf = ({ object, owner }: AddressRecord) => `${objectId(object)} ${owner}`;
