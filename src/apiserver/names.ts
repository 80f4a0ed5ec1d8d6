// Names: which are allowed, and the ones the server makes up.
import { type FieldError, fieldError } from "./status.ts";

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedPart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const labelKeyRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** `path` is for names that stand in a URL only (RBAC), as the real server allows them. */
export type NameRule = "subdomain" | "label" | "path";

export function checkName(name: string, rule: NameRule, field: string): FieldError[] {
  const limit = rule === "label" ? 63 : 253;
  if (rule === "path") {
    const bad = name === "." || name === ".." || /[/%]/.test(name);
    return bad ? [fieldError.invalid(field, name, "may not be '.' or '..' or contain '/' or '%'")] : [];
  }
  const errors: FieldError[] = [];
  if (name.length > limit) errors.push(fieldError.invalid(field, name, `must be no more than ${limit} bytes`));
  const pattern = rule === "label" ? label : subdomain;
  if (!pattern.test(name)) errors.push(fieldError.invalid(field, name, rule === "label" ? labelRule : subdomainRule));
  return errors;
}

/** Label, annotation and finalizer keys: an optional DNS prefix, a slash, a name. */
export function checkQualifiedName(key: string, field: string): FieldError[] {
  const parts = key.split("/");
  const name = parts.length === 1 ? parts[0]! : parts[1]!;
  if (parts.length > 2) {
    return [
      fieldError.invalid(field, key, "a valid label key must have at most one '/' between its prefix and its name"),
    ];
  }
  const errors: FieldError[] = [];
  if (parts.length === 2 && (parts[0] === "" || parts[0]!.length > 253 || !subdomain.test(parts[0]!))) {
    errors.push(fieldError.invalid(field, key, `prefix part ${subdomainRule}`));
  }
  if (name === "") errors.push(fieldError.invalid(field, key, "name part must be non-empty"));
  else if (name.length > 63) errors.push(fieldError.invalid(field, key, "name part must be no more than 63 bytes"));
  if (name !== "" && !qualifiedPart.test(name)) errors.push(fieldError.invalid(field, key, labelKeyRule));
  return errors;
}

export function checkLabels(labels: Readonly<Record<string, string>>, field: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(labels)) {
    errors.push(...checkQualifiedName(key, field));
    if (value.length > 63) errors.push(fieldError.invalid(field, value, "must be no more than 63 bytes"));
    else if (value !== "" && !qualifiedPart.test(value)) errors.push(fieldError.invalid(field, value, labelValueRule));
  }
  return errors;
}

/** Vowels and look-alikes are left out, so that no suffix spells a word or is misread. */
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789";

/** A generated name is cut so that prefix and five letters fit into 63 bytes. */
export function generateName(prefix: string, random: (size: number) => Uint8Array): string {
  let suffix = "";
  for (const byte of random(5)) suffix += suffixLetters[byte % suffixLetters.length];
  return prefix.slice(0, 58) + suffix;
}

/** RFC 9562 version 4. */
export function newUid(random: (size: number) => Uint8Array): string {
  const bytes = Uint8Array.from(random(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
