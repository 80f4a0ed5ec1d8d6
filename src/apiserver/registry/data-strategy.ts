// ConfigMaps and Secrets: what they may hold, how much of it, and when it may not change any more.
import { assign, dig, digObject, equal, isObject, type JsonValue, own, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { type FieldError, fieldError } from "../status.ts";
import type { Strategy } from "./strategy.ts";

/** The data of a secret or configmap together; the real server's limit. */
const dataBytesMax = 1024 * 1024;

function encodedBytes(value: JsonValue | undefined): number {
  const text = textOf(value);
  return (text.length * 3) / 4 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
}

const plainBytes = (value: JsonValue | undefined) => Buffer.byteLength(textOf(value));

function sizeErrors(object: KubeObject): FieldError[] {
  const isSecret = object.kind === "Secret";
  const sum = (field: string, size: (value: JsonValue | undefined) => number) =>
    Object.values(digObject(object, field)).reduce<number>((total, value) => total + size(value), 0);
  const bytes = isSecret ? sum("data", encodedBytes) : sum("data", plainBytes) + sum("binaryData", encodedBytes);
  return bytes > dataBytesMax ? [fieldError.tooLong(isSecret ? "data" : "", dataBytesMax)] : [];
}

/** What secrets of these types must hold. Key: type. */
const secretKeys: ReadonlyMap<string, readonly string[]> = new Map([
  ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
  ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
]);

export const configMap: Strategy = {
  validate(object, before) {
    const errors: FieldError[] = [];
    const forbid = (field: string) =>
      errors.push(fieldError.forbidden(field, "field is immutable when `immutable` is set"));
    if (before?.["immutable"] === true) {
      if (object["immutable"] !== true) forbid("immutable");
      for (const field of ["data", "binaryData", "stringData"]) if (!equal(object[field], before[field])) forbid(field);
    }
    errors.push(...sizeErrors(object));
    const binary = digObject(object, "binaryData");
    for (const key of Object.keys(digObject(object, "data"))) {
      if (own(binary, key) !== undefined)
        errors.push(fieldError.invalid(`data[${key}]`, key, "duplicate of key present in binaryData"));
    }
    for (const field of ["data", "binaryData"]) {
      for (const key of Object.keys(digObject(object, field))) {
        if (!/^[-._a-zA-Z0-9]+$/.test(key)) errors.push(fieldError.invalid(`${field}[${key}]`, key, keyRule));
      }
    }
    return errors;
  },
};

const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

export const secret: Strategy = {
  defaults(object) {
    object["type"] ??= "Opaque";
    const given = object["stringData"];
    if (!isObject(given)) return;
    const data = { ...digObject(object, "data") };
    object["data"] = data;
    for (const [key, value] of Object.entries(given)) assign(data, key, Buffer.from(textOf(value)).toString("base64"));
    delete object["stringData"];
  },
  validate(object, before) {
    const errors = configMap.validate!(object, before);
    for (const key of secretKeys.get(textOf(object["type"])) ?? []) {
      if (dig(object, "data", key) === undefined) errors.push(fieldError.required(`data[${key}]`));
    }
    if (before !== undefined && object["type"] !== before["type"]) {
      errors.push(fieldError.immutable("type", object["type"]));
    }
    return errors;
  },
};
