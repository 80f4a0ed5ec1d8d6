// Whether a CRD's schema is structural: every field has a type, and logic only restricts what the structure declares.
import { ruleErrors } from "../cel/rules.ts";
import { digList, digObject, isObject, type JsonObject, type JsonValue } from "../json.ts";
import { validate } from "../schema/validate.ts";
import { type FieldError, fieldError } from "../status.ts";

/** Deep enough for every schema seen (Pod templates reach 14), shallow enough for the stack. */
const depthMax = 64;

export function structuralErrors(schema: JsonObject, path: string, isRoot: boolean, depth = 0): FieldError[] {
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
