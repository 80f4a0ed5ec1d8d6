// A CustomResourceDefinition itself: its defaults, its checks, and the conditions that say whether it is served.
import { ruleErrors } from "../cel/rules.ts";
import {
  type JsonObject,
  type JsonValue,
  dig,
  digList,
  digObject,
  digString,
  equal,
  isObject,
  textOf,
} from "../json.ts";
import type { KubeObject } from "../object.ts";
import { validate } from "../schema/validate.ts";
import { type FieldError, fieldError } from "../status.ts";
import { conditionOf, objectWithCondition } from "./crd.ts";

export function defaultCrd(crd: KubeObject): void {
  const names = digObject(crd, "spec", "names");
  const kind = digString(names, "kind") ?? "";
  names["singular"] ??= kind.toLowerCase();
  names["listKind"] ??= `${kind}List`;
  const spec = crd["spec"];
  if (!isObject(spec)) return;
  spec["names"] = names;
  spec["conversion"] ??= { strategy: "None" };
}

export function validateCrd(crd: KubeObject, before: KubeObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const group = digString(crd, "spec", "group") ?? "";
  const plural = digString(crd, "spec", "names", "plural") ?? "";
  const name = crd.metadata.name ?? "";
  if (name !== `${plural}.${group}`) {
    errors.push(fieldError.invalid("metadata.name", name, `must be spec.names.plural+"."+spec.group`));
  }
  if (group === "") errors.push(fieldError.required("spec.group"));
  else if (!group.includes("."))
    errors.push(fieldError.invalid("spec.group", group, "should be a domain with at least one dot"));
  const scope = dig(crd, "spec", "scope");
  if (scope !== "Cluster" && scope !== "Namespaced") {
    if (scope === undefined) errors.push(fieldError.required("spec.scope"));
    else errors.push(fieldError.unsupported("spec.scope", scope, ["Cluster", "Namespaced"]));
  }
  const approval = "api-approved.kubernetes.io";
  if (/\.(k8s|kubernetes)\.io$/.test(group) && crd.metadata.annotations?.[approval] === undefined) {
    const rule = "protected groups must have approval annotation";
    errors.push(fieldError.required(`metadata.annotations[${approval}]`, rule));
  }
  for (const key of ["plural", "kind"]) {
    if ((digString(crd, "spec", "names", key) ?? "") === "") errors.push(fieldError.required(`spec.names.${key}`));
  }
  errors.push(...validateVersions(digList(crd, "spec", "versions")));
  if (dig(crd, "spec", "conversion", "strategy") === "Webhook") {
    errors.push(fieldError.unsupported("spec.conversion.strategy", "Webhook", ["None"]));
  }
  if (before !== undefined) errors.push(...immutableErrors(crd, before));
  return errors;
}

function validateVersions(versions: readonly JsonValue[]): FieldError[] {
  const errors: FieldError[] = [];
  const stored = versions.filter((version) => dig(version, "storage") === true).length;
  if (stored !== 1) {
    const rule = "must have exactly one version marked as storage version";
    errors.push(fieldError.invalid("spec.versions", versions.length, rule));
  }
  const seen = new Set<string>();
  versions.forEach((version, at) => {
    const path = `spec.versions[${at}]`;
    const name = digString(version, "name") ?? "";
    if (seen.has(name)) errors.push(fieldError.invalid(path, name, "must contain unique version names"));
    seen.add(name);
    const schema = dig(version, "schema", "openAPIV3Schema");
    if (!isObject(schema)) errors.push(fieldError.required(`${path}.schema.openAPIV3Schema`, "schemas are required"));
    else errors.push(...structuralErrors(schema, `${path}.schema.openAPIV3Schema`, true));
  });
  return errors;
}

function immutableErrors(crd: KubeObject, before: KubeObject): FieldError[] {
  const versions = new Set(digList(crd, "spec", "versions").map((version) => digString(version, "name")));
  const missing = digList(before, "status", "storedVersions").flatMap((stored, at) =>
    versions.has(textOf(stored))
      ? []
      : [fieldError.invalid(`status.storedVersions[${at}]`, stored, "missing from spec.versions")],
  );
  const changed = [["group"], ["scope"], ["names", "plural"], ["names", "kind"]].flatMap((path) => {
    const now = dig(crd, "spec", ...path);
    return equal(now, dig(before, "spec", ...path)) ? [] : [fieldError.immutable(`spec.${path.join(".")}`, now)];
  });
  return [...missing, ...changed];
}

/** Sets acceptedNames, storedVersions and the two conditions. `clash` is a name that another CRD has already. */
export function establish(crd: KubeObject, clash: string | undefined, nowMs: number): void {
  const status = digObject(crd, "status");
  crd["status"] = status;
  const accepted = clash === undefined || conditionOf(crd, "Established")?.["status"] === "True";
  if (accepted) status["acceptedNames"] = { ...digObject(crd, "spec", "names") };
  else status["acceptedNames"] ??= { plural: "", kind: "" };
  const storage = digString(
    digList(crd, "spec", "versions").find((version) => dig(version, "storage") === true),
    "name",
  );
  const stored = digList(status, "storedVersions");
  status["storedVersions"] = storage === undefined || stored.includes(storage) ? stored : [...stored, storage];
  const names =
    clash === undefined
      ? { status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : { status: "False", reason: "NameConflict", message: `${JSON.stringify(clash)} is already in use` };
  const established = accepted
    ? { status: "True", reason: "InitialNamesAccepted", message: "the initial names have been accepted" }
    : { status: "False", reason: "NotAccepted", message: "not all names are accepted" };
  const named = objectWithCondition(crd, { type: "NamesAccepted", ...names }, nowMs);
  crd["status"] = objectWithCondition(named, { type: "Established", ...established }, nowMs)["status"];
}

/** Deep enough for every schema seen (Pod templates reach 14), shallow enough for the stack. */
const depthMax = 64;

/** Whether a schema is structural: every field has a type, and logic only restricts what the structure declares. */
function structuralErrors(schema: JsonObject, path: string, isRoot: boolean, depth = 0): FieldError[] {
  if (depth > depthMax) return [fieldError.invalid(path, depth, `a schema may not be deeper than ${depthMax}`)];
  const errors: FieldError[] = [];
  const { type } = schema;
  const free = schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  const at = (place: string) => `${path}.${place}`;
  const forbid = (place: string, rule: string) => errors.push(fieldError.forbidden(at(place), rule));
  if (isRoot && type === undefined) errors.push(fieldError.required(at("type"), "must not be empty at the root"));
  else if (isRoot && type !== "object") errors.push(fieldError.invalid(at("type"), type, "must be object at the root"));
  else if (type === undefined && !free)
    errors.push(fieldError.required(at("type"), "must not be empty for specified object fields"));
  if (type === "array" && !isObject(schema["items"]))
    errors.push(fieldError.required(at("items"), "must be specified"));
  errors.push(...listErrors(schema, path), ...ruleErrors(schema, path));
  const rest = schema["additionalProperties"];
  if (schema["properties"] !== undefined && isObject(rest))
    forbid("additionalProperties", "additionalProperties and properties are mutual exclusive");
  if (rest === false) forbid("additionalProperties", "additionalProperties cannot be set to false");
  if (schema["uniqueItems"] === true)
    forbid("uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
  if (schema["default"] !== undefined) errors.push(...validate(schema["default"], schema, at("default")));
  if (schema["$ref"] !== undefined) forbid("$ref", "$ref is not supported");
  for (const [place, child] of childrenOf(schema))
    errors.push(...structuralErrors(child, path + place, false, depth + 1));
  return errors;
}

function childrenOf(schema: JsonObject): [string, JsonObject][] {
  const properties = Object.entries(digObject(schema, "properties"));
  const children: [string, JsonValue | undefined][] = [
    ...properties.map(([key, value]): [string, JsonValue | undefined] => [`.properties[${key}]`, value]),
    [".items", schema["items"]],
    [".additionalProperties", schema["additionalProperties"]],
  ];
  return children.filter((pair): pair is [string, JsonObject] => isObject(pair[1]));
}

function listErrors(schema: JsonObject, path: string): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  if (listType === undefined) return [];
  if (listType !== "atomic" && listType !== "set" && listType !== "map") {
    return [fieldError.unsupported(`${path}.x-kubernetes-list-type`, listType, ["atomic", "map", "set"])];
  }
  const keys = digList(schema, "x-kubernetes-list-map-keys");
  if (listType !== "map" || keys.length > 0) return [];
  const rule = "must not be empty if x-kubernetes-list-type is map";
  return [fieldError.required(`${path}.x-kubernetes-list-map-keys`, rule)];
}
