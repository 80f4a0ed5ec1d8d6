/** What was seen is not what is there: the next look decides anew. */
export class StaleError extends Error {
  readonly code = "stale";
  override readonly name = "StaleError";
}
