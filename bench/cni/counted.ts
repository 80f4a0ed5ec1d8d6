// What calls cost the API server: the requests it counted while a contestant worked alone, divided by the calls.
import { attachmentOf, type BenchPod } from "./attachment.ts";
import type { Contestant } from "./contestant.ts";
import { rounded } from "./figures.ts";
import type { BenchLab } from "./lab.ts";
import { between, describeCount, isRead, isWrite, type RequestCount, total } from "./request-counts.ts";

export interface Counted {
  readonly writesPerAdd: number;
  readonly readsPerAdd: number;
  readonly writesPerDel: number;
  readonly readsPerDel: number;
  /** Each kind of request that an ADD made, in all. */
  readonly addRequests: readonly string[];
  readonly delRequests: readonly string[];
}

export async function countRequests(
  lab: BenchLab,
  contestant: Contestant,
  pods: readonly BenchPod[],
): Promise<Counted> {
  const attachments = pods.map((pod) => attachmentOf(pod, "counted"));
  const readings: RequestCount[][] = [await lab.requestCounts()];
  for (const command of ["ADD", "DEL"] as const) {
    for (const attachment of attachments) await contestant.call(command, attachment);
    readings.push(await lab.requestCounts());
  }
  const [atFirst = [], added = [], deleted = []] = readings;
  const adds = withoutMetrics(between(atFirst, added));
  const dels = withoutMetrics(between(added, deleted));
  const per = (counts: RequestCount[], select: typeof isWrite) => rounded(total(counts, select) / pods.length);
  return {
    writesPerAdd: per(adds, isWrite),
    readsPerAdd: per(adds, isRead),
    writesPerDel: per(dels, isWrite),
    readsPerDel: per(dels, isRead),
    addRequests: adds.map(describeCount),
    delRequests: dels.map(describeCount),
  };
}

/** The reading itself, and what is no resource (health, discovery). */
function withoutMetrics(counts: readonly RequestCount[]): RequestCount[] {
  return counts.filter(({ resource }) => resource !== "");
}
