// What the API server was asked, by its own count: `apiserver_request_total`, as the difference of two readings.
//
// It counts all clients' requests, also the server's own (a lease every 10 s): `idlePerSecond` of a quiet moment.

/** One series of the counter. */
export interface RequestCount {
  readonly verb: string;
  /** `resource.group`, or the resource alone in the core group. */
  readonly resource: string;
  readonly code: number;
  readonly count: number;
}

const line = /^apiserver_request_total\{([^}]*)\} (\S+)$/;
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Reads the server's metrics in Prometheus' text form. */
export function readRequestCounts(text: string): RequestCount[] {
  const counts = new Map<string, RequestCount>();
  for (const each of text.split("\n")) {
    const [, labels = "", value = ""] = line.exec(each) ?? [];
    if (labels === "") continue;
    const named = Object.fromEntries(Array.from(labels.matchAll(label), ([, name = "", word = ""]) => [name, word]));
    const { verb = "", group = "", resource = "", code = "" } = named;
    const read = { verb, resource: group === "" ? resource : `${resource}.${group}`, code: Number(code) };
    const key = keyOf(read);
    counts.set(key, { ...read, count: (counts.get(key)?.count ?? 0) + Number(value) });
  }
  return [...counts.values()];
}

export function between(before: readonly RequestCount[], after: readonly RequestCount[]): RequestCount[] {
  const earlier = new Map(before.map((each) => [keyOf(each), each.count]));
  return after
    .map((each) => ({ ...each, count: each.count - (earlier.get(keyOf(each)) ?? 0) }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count);
}

const writeVerbs = new Set(["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"]);
const readVerbs = new Set(["GET", "LIST"]);

export const isWrite = ({ verb }: RequestCount): boolean => writeVerbs.has(verb);
/** A watch that is opened is not a read of a call: it is there anyway. */
export const isRead = ({ verb }: RequestCount): boolean => readVerbs.has(verb);

export function total(counts: readonly RequestCount[], select: (count: RequestCount) => boolean = () => true): number {
  return counts.filter(select).reduce((sum, { count }) => sum + count, 0);
}

/** For people: `POST overlappingrangeipreservations.whereabouts.cni.cncf.io 201: 300`. */
export function describeCount({ verb, resource, code, count }: RequestCount): string {
  return `${verb} ${resource} ${code}: ${count}`;
}

function keyOf({ verb, resource, code }: Omit<RequestCount, "count">): string {
  return `${verb} ${resource} ${code}`;
}
