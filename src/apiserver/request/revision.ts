// resourceVersion and resourceVersionMatch of a read: what may be asked for, and what is refused.
import { StatusError, badRequest, expired, fieldError, invalidOptions } from "../status.ts";
import type { Store } from "../store/store.ts";

export function parseRevision(text: string | null): number | undefined {
  if (text === null || text === "") return undefined;
  if (!/^\d{1,15}$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: it is a number`,
    );
  }
  return Number(text);
}

export function refuseFuture(store: Store, revision: number): void {
  if (revision <= store.revision) return;
  throw new StatusError(
    504,
    "Timeout",
    `Timeout: Too large resource version: ${revision}, current: ${store.revision}`,
    {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  );
}

export const compactedMessage = (revision: number, oldest: number) =>
  `too old resource version: ${revision} (${oldest})`;

/** The history from `revision` on must be there. */
export function refuseCompacted(store: Store, revision: number): void {
  const { compacted } = store.history;
  if (revision < compacted) throw expired(compactedMessage(revision, compacted));
}

function refuse(message: string): never {
  throw invalidOptions("ListOptions", fieldError.forbidden("resourceVersionMatch", message));
}

export function checkMatch(match: string | null, revision: number | undefined, isContinued: boolean): void {
  if (match === null || match === "") return;
  if (isContinued) refuse("resourceVersionMatch is forbidden when continue is provided");
  if (revision === undefined) refuse("resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (match !== "Exact" && match !== "NotOlderThan") {
    throw invalidOptions(
      "ListOptions",
      fieldError.unsupported("resourceVersionMatch", match, ["Exact", "NotOlderThan"]),
    );
  }
  if (match === "Exact" && revision === 0) {
    refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}
