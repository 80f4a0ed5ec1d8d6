// resourceVersion and resourceVersionMatch of a read: what may be asked for, and what is refused.
import { StatusError, expired, fieldError, invalidOptions } from "../status.ts";
import type { Store } from "../store/store.ts";

export function refuseFuture(store: Store, revision: number): void {
  if (revision <= store.revision) return;
  const message = `Timeout: Too large resource version: ${revision}, current: ${store.revision}`;
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  throw new StatusError(504, "Timeout", message, { causes, retryAfterSeconds: 1 });
}

/** Where the history from `revision` on is no longer there. */
export function compactedError(store: Store, revision: number): StatusError | undefined {
  const { compacted } = store.history;
  return revision < compacted ? expired(`too old resource version: ${revision} (${compacted})`) : undefined;
}

function refuse(message: string): never {
  throw invalidOptions("ListOptions", fieldError.forbidden("resourceVersionMatch", message));
}

export function checkMatch(match: string, revision: number | undefined, isContinued: boolean): void {
  if (match === "") return;
  if (isContinued) refuse("resourceVersionMatch is forbidden when continue is provided");
  if (revision === undefined) refuse("resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (match !== "Exact" && match !== "NotOlderThan") {
    const supported = ["Exact", "NotOlderThan"];
    throw invalidOptions("ListOptions", fieldError.unsupported("resourceVersionMatch", match, supported));
  }
  if (match === "Exact" && revision === 0) {
    refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}
