// The errors of the API, typed by what a caller does about them.
//
// Promised: `outcome-unknown` whenever the server may have acted although no answer says so (a deadline, a broken connection, a bare 5xx).
// Such a write is read back, never counted as failed. Every other code of a write means that it did not happen.

export type ApiErrorCode =
  | "not-found"
  | "already-exists"
  | "conflict"
  | "gone"
  | "invalid"
  | "bad-request"
  | "unauthorized"
  | "forbidden"
  | "too-many-requests"
  | "too-large"
  | "unsupported"
  | "unavailable"
  | "internal"
  /** No connection: nothing was sent. */
  | "unreachable"
  /** The caller's own signal ended a read, or a write before it was sent. */
  | "aborted"
  | "outcome-unknown"
  /** An answer that is not what the API promises. */
  | "malformed";

/** The `Status` object that the API server answers with instead of success. */
export interface Status {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: StatusDetails;
}

export interface StatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly group?: string;
  readonly retryAfterSeconds?: number;
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
}

export interface ApiErrorFacts {
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly details?: StatusDetails | undefined;
  readonly cause?: unknown;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** The HTTP status, if the server answered. */
  readonly status: number | undefined;
  /** Kubernetes' own word, such as `NotFound` or `Expired`. */
  readonly reason: string | undefined;
  /** The server asked to wait this long before the next try. */
  readonly retryAfterMs: number | undefined;
  readonly details: StatusDetails | undefined;

  constructor(code: ApiErrorCode, message: string, facts: ApiErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.status = facts.status;
    this.reason = facts.reason;
    this.retryAfterMs = facts.retryAfterMs;
    this.details = facts.details;
  }
}

export function isApiError(error: unknown, ...codes: readonly ApiErrorCode[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}

/** Key: Kubernetes' reason. */
const codeByReason: Readonly<Record<string, ApiErrorCode>> = {
  NotFound: "not-found",
  AlreadyExists: "already-exists",
  Conflict: "conflict",
  Gone: "gone",
  Expired: "gone",
  Invalid: "invalid",
  BadRequest: "bad-request",
  Unauthorized: "unauthorized",
  Forbidden: "forbidden",
  TooManyRequests: "too-many-requests",
  RequestEntityTooLarge: "too-large",
  MethodNotAllowed: "unsupported",
  NotAcceptable: "unsupported",
  UnsupportedMediaType: "unsupported",
  ServiceUnavailable: "unavailable",
  InternalError: "internal",
  Timeout: "outcome-unknown",
  ServerTimeout: "outcome-unknown",
};

/** Key: HTTP status, for an answer without a reason that we know. */
const codeByStatus: Readonly<Record<number, ApiErrorCode>> = {
  400: "bad-request",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  405: "unsupported",
  406: "unsupported",
  409: "conflict",
  410: "gone",
  413: "too-large",
  415: "unsupported",
  422: "invalid",
  429: "too-many-requests",
};

/** etcd's own timeouts, where they are wrapped into an InternalError: the write may be in the log all the same. */
const etcdUnknown = /etcdserver: (request timed out|leader changed|server stopped)|context deadline exceeded/;

/** The API server asks for seconds. A proxy's hour, or a date read by a clock that jumped, must not stop a watch for as long. */
const maxRetryAfterMs = 60_000;

/** The error for a Status. `what` says what was tried on what, such as `create Pod default/a`. */
export function errorFromStatus(what: string, httpStatus: number, status: Status, retryAfterMs?: number): ApiError {
  const code = codeOf(httpStatus, status);
  const reason = status.reason ?? "";
  const words = status.message ?? "no explanation was given";
  const wait = retryAfterMs ?? secondsToMs(status.details?.retryAfterSeconds);
  const unknown = code === "outcome-unknown" ? " It may or may not have happened: read it back." : "";
  return new ApiError(code, `${what}: the API server answered ${httpStatus} ${reason}: ${words}.${unknown}`, {
    status: httpStatus,
    reason: status.reason,
    retryAfterMs: wait === undefined ? undefined : Math.min(wait, maxRetryAfterMs),
    details: status.details,
  });
}

/**
 * The 5xx without a reason come from a proxy that lost the server (502 and 504, Envoy's and the aggregator's 503), from a panic, or from an
 * API server that lost etcd ("rpc error: code = Unavailable"): all of them leave open what became of a write.
 */
function codeOf(httpStatus: number, { reason = "", message = "" }: Status): ApiErrorCode {
  const known = Object.hasOwn(codeByReason, reason) ? codeByReason[reason] : codeByStatus[httpStatus];
  if (known === "internal" && etcdUnknown.test(message)) return "outcome-unknown";
  return known ?? (httpStatus < 500 ? "bad-request" : "outcome-unknown");
}

function secondsToMs(seconds: number | undefined): number | undefined {
  return typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
}

/** Retry-After is a number of seconds or a date. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** How long the server asked to be left alone; 0 if it did not. */
export function retryAfterOf(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}

/** Nothing new is made in a namespace that is being deleted. Any other 403 is a quota, a policy or a right that is missing. */
export function isNamespaceEnding(error: unknown): boolean {
  const causes = isApiError(error, "forbidden") ? (error.details?.causes ?? []) : [];
  return causes.some(({ reason }) => reason === "NamespaceTerminating");
}

/** A watch or list from a version that the server has not reached: its storage was restored from an older copy. */
export function isVersionTooLarge(error: unknown): boolean {
  const causes: unknown = error instanceof ApiError ? error.details?.causes : undefined;
  return (
    Array.isArray(causes) &&
    causes.some((cause: { reason?: string } | null) => cause?.reason === "ResourceVersionTooLarge")
  );
}
