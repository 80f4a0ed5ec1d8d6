// Every refusal of the API: an error that is also the Status object which the client receives.
// `code` is the HTTP status, `reason` what a machine decides by, the message a sentence for people.
import type { StatusReason } from "../kube/errors.ts";
import { type JsonObject, type JsonValue, writeJson } from "./json.ts";

export interface Cause extends JsonObject {
  reason?: string;
  message: string;
  field?: string;
}

export interface Details {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: Cause[];
  readonly retryAfterSeconds?: number;
}

export class StatusError extends Error {
  readonly code: number;
  readonly reason: StatusReason | "";
  readonly details: Details | undefined;
  /** Where a client may go on with its list. */
  continueToken: string | undefined;

  constructor(code: number, reason: StatusReason | "", message: string, details?: Details, options?: ErrorOptions) {
    super(message, options);
    this.name = "ApiError";
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  status(): JsonObject {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: "Failure",
      message: this.message,
      ...(this.reason === "" ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: { ...this.details } }),
      code: this.code,
    };
  }
}

/** What an error is about: `pods "a"`, `widgets.example.com "a"`. */
export interface Subject {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

const titled = (subject: Subject, name: string) =>
  `${subject.plural}${subject.group === "" ? "" : `.${subject.group}`} ${JSON.stringify(name)}`;

const detailsOf = (subject: Subject, name: string): Details => ({
  name,
  ...(subject.group === "" ? {} : { group: subject.group }),
  kind: subject.plural,
});

export function notFound(subject: Subject, name: string): StatusError {
  return new StatusError(404, "NotFound", `${titled(subject, name)} not found`, detailsOf(subject, name));
}

/** For a path that names nothing this server has. */
export function noSuchPath(): StatusError {
  return new StatusError(404, "NotFound", "the server could not find the requested resource", {});
}

export function alreadyExists(subject: Subject, name: string, isLeaving = false): StatusError {
  const message = `${isLeaving ? "object is being deleted: " : ""}${titled(subject, name)} already exists`;
  return new StatusError(409, "AlreadyExists", message, detailsOf(subject, name));
}

const staleMessage = "the object has been modified; please apply your changes to the latest version and try again";

export function conflict(subject: Subject, name: string, why: string = staleMessage): StatusError {
  const message = `Operation cannot be fulfilled on ${titled(subject, name)}: ${why}`;
  return new StatusError(409, "Conflict", message, detailsOf(subject, name));
}

export function forbidden(subject: Subject, name: string, why: string, causes?: Cause[]): StatusError {
  const details = { ...detailsOf(subject, name), ...(causes === undefined ? {} : { causes }) };
  return new StatusError(403, "Forbidden", `${titled(subject, name)} is forbidden: ${why}`, details);
}

export function badRequest(message: string, options?: ErrorOptions): StatusError {
  return new StatusError(400, "BadRequest", message, undefined, options);
}

export function methodNotAllowed(): StatusError {
  const message = "the server does not allow this method on the requested resource";
  return new StatusError(405, "MethodNotAllowed", message, {});
}

export function unknownFormat(detail: string): StatusError {
  return new StatusError(415, "UnsupportedMediaType", `the body of the request was in an unknown format - ${detail}`);
}

/** What went wrong here, not in the request. */
export function internalError(message: string, cause: unknown, details?: Details): StatusError {
  return new StatusError(500, "InternalError", `Internal error occurred: ${message}`, details, { cause });
}

export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

export function expired(message: string): StatusError {
  return new StatusError(410, "Expired", message);
}

/** One thing wrong with one field; `message` is without the field's path. */
export interface FieldError {
  readonly type: `FieldValue${"Invalid" | "TypeInvalid" | "Required" | "NotSupported" | "Forbidden" | "TooLong" | "TooMany" | "Duplicate"}`;
  readonly field: string;
  readonly message: string;
}

const shown = (value: JsonValue | undefined) => (value === undefined ? "null" : writeJson(value));
const wrong = (type: FieldError["type"], field: string, message: string): FieldError => ({ type, field, message });

export const fieldError = {
  invalid: (field: string, value: JsonValue | undefined, detail: string): FieldError =>
    wrong("FieldValueInvalid", field, `Invalid value: ${shown(value)}: ${detail}`),
  wrongType: (field: string, found: string, wanted: string) =>
    wrong(
      "FieldValueTypeInvalid",
      field,
      `Invalid value: "${found}": ${field} in body must be of type ${wanted}: "${found}"`,
    ),
  /** `rule` of a value that a schema speaks of. */
  against: (field: string, value: JsonValue | undefined, rule: string) =>
    fieldError.invalid(field, value, `${field} in body ${rule}`),
  immutable: (field: string, value: JsonValue | undefined) => fieldError.invalid(field, value, "field is immutable"),
  required: (field: string, detail = "") =>
    wrong("FieldValueRequired", field, `Required value${detail === "" ? "" : `: ${detail}`}`),
  unsupported: (field: string, value: JsonValue | undefined, allowed: readonly JsonValue[]) => {
    const values = allowed.map(shown).join(", ");
    return wrong("FieldValueNotSupported", field, `Unsupported value: ${shown(value)}: supported values: ${values}`);
  },
  forbidden: (field: string, detail: string) => wrong("FieldValueForbidden", field, `Forbidden: ${detail}`),
  tooLong: (field: string, limit: number) =>
    wrong("FieldValueTooLong", field, `Too long: may not be more than ${limit} bytes`),
  tooMany: (field: string, count: number, limit: number) =>
    wrong("FieldValueTooMany", field, `Too many: ${count}: must have at most ${limit} items`),
  duplicate: (field: string, value: JsonValue) =>
    wrong("FieldValueDuplicate", field, `Duplicate value: ${shown(value)}`),
};

export function invalid(subject: Subject, name: string, errors: readonly FieldError[]): StatusError {
  const lines = errors.map((error) => `${error.field}: ${error.message}`);
  const list = lines.length === 1 ? lines[0]! : `[${lines.join(", ")}]`;
  const kind = subject.group === "" ? subject.kind : `${subject.kind}.${subject.group}`;
  return new StatusError(422, "Invalid", `${kind} ${JSON.stringify(name)} is invalid: ${list}`, {
    ...(name === "" ? {} : { name }),
    ...(subject.group === "" ? {} : { group: subject.group }),
    kind: subject.kind,
    causes: errors.map((error) => ({ reason: error.type, message: error.message, field: error.field })),
  });
}

/** A fault in the options of a request: ListOptions, DeleteOptions and their like. */
export function invalidOptions(kind: string, error: FieldError): StatusError {
  return invalid({ group: "meta.k8s.io", kind, plural: kind.toLowerCase() }, "", [error]);
}
