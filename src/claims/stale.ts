// What is no failure: somebody was faster, or it is too early. The next look sees it.
import { isApiError } from "../kube/errors.ts";

/** The family changed between the look and the write, or something has to pass first. */
export class StaleError extends Error {
  readonly code = "stale";
  override readonly name = "StaleError";
}

export function isStale(error: unknown): boolean {
  return error instanceof StaleError || isApiError(error, "conflict", "not-found");
}
