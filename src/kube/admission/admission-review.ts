// AdmissionReview v1, parsed once at the border, and the answer to it.
import type { AnyObject } from "../meta.ts";
import type { JsonPatchOperation } from "../patch.ts";

export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly subResource: string | undefined;
  /** Empty on a create with generateName. */
  readonly name: string;
  readonly namespace: string | undefined;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly username: string;
  readonly groups: readonly string[];
  /** Nothing will be stored: a handler must not write anything elsewhere either. */
  readonly dryRun: boolean;
  /** Absent on delete. */
  readonly object: AnyObject | undefined;
  /** Present on update and delete. */
  readonly oldObject: AnyObject | undefined;
}

export type AdmissionReply = { readonly warnings?: readonly string[] } & (
  | { readonly allowed: true; readonly patch?: readonly JsonPatchOperation[] }
  /** The message is shown to the user: a full sentence that says what to change. */
  | { readonly allowed: false; readonly message: string; readonly code?: number; readonly reason?: string }
);

const version = "admission.k8s.io/v1";

export class ReviewError extends Error {
  readonly code = "bad-review";
  override readonly name = "ReviewError";
}

interface Review {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly request?: Partial<Omit<AdmissionRequest, "username" | "groups">> & {
    readonly userInfo?: { readonly username?: string; readonly groups?: readonly string[] };
  };
}

export function parseReview(text: string): AdmissionRequest {
  const { apiVersion, kind, request } = parseJson(text);
  if (apiVersion !== version || kind !== "AdmissionReview") {
    throw new ReviewError(`Expected an AdmissionReview of ${version}, got ${kind} of ${apiVersion}.`);
  }
  if (request?.uid === undefined || request.kind === undefined || request.resource === undefined) {
    throw new ReviewError("The AdmissionReview has no request with a uid, a kind and a resource.");
  }
  if (request.operation === undefined)
    throw new ReviewError("The AdmissionReview does not say which operation it is for.");
  return {
    uid: request.uid,
    kind: request.kind,
    resource: request.resource,
    subResource: request.subResource === "" ? undefined : request.subResource,
    name: request.name ?? "",
    namespace: request.namespace === "" ? undefined : request.namespace,
    operation: request.operation,
    username: request.userInfo?.username ?? "",
    groups: request.userInfo?.groups ?? [],
    dryRun: request.dryRun === true,
    object: request.object ?? undefined,
    oldObject: request.oldObject ?? undefined,
  };
}

/** The uid is echoed: the API server refuses an answer without it. */
export function reviewAnswer(uid: string, reply: AdmissionReply): object {
  const { allowed, warnings = [] } = reply;
  const outcome = reply.allowed ? patchOf(reply.patch ?? []) : denial(reply);
  const response = { uid, allowed, ...(warnings.length > 0 && { warnings }), ...outcome };
  return { apiVersion: version, kind: "AdmissionReview", response };
}

function patchOf(patch: readonly JsonPatchOperation[]): object {
  if (patch.length === 0) return {};
  return { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
}

function denial({ message, code = 403, reason = "Forbidden" }: AdmissionReply & { readonly allowed: false }): object {
  return { status: { message, code, reason } };
}

function parseJson(text: string): Review {
  try {
    const review: unknown = JSON.parse(text);
    if (typeof review === "object" && review !== null) return review;
  } catch (cause) {
    throw new ReviewError("The body is not JSON.", { cause });
  }
  throw new ReviewError("The body is not a JSON object.");
}
