// Why the slices of a node were not released, or not yet.

export type ReleaseErrorCode =
  /** Its Node is Ready, or its daemon has been heard. */
  | "node-alive"
  | "not-confirmed"
  /** Fenced, and not removed yet. */
  | "not-removed"
  | "called-off";

export class ReleaseError extends Error {
  readonly code: ReleaseErrorCode;

  constructor(code: ReleaseErrorCode, message: string) {
    super(message);
    this.name = "ReleaseError";
    this.code = code;
  }
}
