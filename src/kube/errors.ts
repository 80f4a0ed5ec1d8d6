// The errors of the API, typed by what a caller does about them.
//
// Promised: `outcome-unknown` whenever the server may have acted although no answer says so (a deadline, a broken
// connection, a bare 5xx). Such a write is read back, never counted as failed. With every other code it did not happen.

/** Kubernetes' reason -> our code, and the HTTP status that means it in an answer without a reason that we know. */
const reasons = {
  NotFound: ["not-found", 404],
  AlreadyExists: ["already-exists"],
  Conflict: ["conflict", 409],
  Gone: ["gone", 410],
  Expired: ["gone"],
  Invalid: ["invalid", 422],
  BadRequest: ["bad-request", 400],
  Unauthorized: ["unauthorized", 401],
  Forbidden: ["forbidden", 403],
  TooManyRequests: ["too-many-requests", 429],
  RequestEntityTooLarge: ["too-large", 413],
  MethodNotAllowed: ["unsupported", 405],
  NotAcceptable: ["unsupported", 406],
  UnsupportedMediaType: ["unsupported", 415],
  ServiceUnavailable: ["unavailable"],
  InternalError: ["internal"],
  Timeout: ["outcome-unknown"],
  ServerTimeout: ["outcome-unknown"],
} as const;

export type StatusReason = keyof typeof reasons;

export type ApiErrorCode =
  | (typeof reasons)[StatusReason][0]
  /** No connection: nothing was sent. */
  | "unreachable"
  /** The caller's own signal ended a read, or a write before it was sent. */
  | "aborted"
  /** An answer that is not what the API promises. */
  | "malformed";

/** The `Status` object that the API server answers with instead of success. */
export interface Status {
  readonly kind?: string;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  };
}

type ApiErrorFacts = Partial<Pick<ApiError, "status" | "reason" | "retryAfterMs" | "details" | "cause">>;

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** The HTTP status, if the server answered. */
  readonly status: number | undefined;
  /** Kubernetes' own word, such as `NotFound` or `Expired`. */
  readonly reason: string | undefined;
  /** The server asked to wait this long before the next try. */
  readonly retryAfterMs: number | undefined;
  readonly details: Status["details"];

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

const entries = Object.entries(reasons);
const codeByReason = new Map<string, ApiErrorCode>(entries.map(([reason, [code]]) => [reason, code]));
const codeByStatus = new Map<number | undefined, ApiErrorCode>(entries.map(([, [code, status]]) => [status, code]));

/** etcd's own timeouts, where they are wrapped into an InternalError: the write may be in the log all the same. */
const etcdUnknown = /etcdserver: (request timed out|leader changed|server stopped)|context deadline exceeded/;

/** The API server asks for seconds. A proxy's hour, or a date read by a clock that jumped, must not stop a watch. */
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

// A 5xx without a reason comes from a proxy that lost the server (502 and 504, Envoy's and the aggregator's 503), from
// a panic, or from a server that lost etcd ("rpc error: code = Unavailable"): a write may have happened or not.
function codeOf(httpStatus: number, { reason = "", message = "" }: Status): ApiErrorCode {
  const known = codeByReason.get(reason) ?? codeByStatus.get(httpStatus);
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

/** Nothing new is made in a namespace that is being deleted. Any other 403 is a quota, a policy or a missing right. */
export function isNamespaceEnding(error: unknown): boolean {
  return isApiError(error, "forbidden") && hasCause(error, "NamespaceTerminating");
}

/** A watch or list from a version that the server has not reached: its storage was restored from an older copy. */
export function isVersionTooLarge(error: unknown): boolean {
  return hasCause(error, "ResourceVersionTooLarge");
}

function hasCause(error: unknown, reason: string): boolean {
  const causes: unknown = error instanceof ApiError ? error.details?.causes : undefined;
  return Array.isArray(causes) && causes.some((cause: { reason?: string } | null) => cause?.reason === reason);
}
