// The part of OpenAPI that the API understands: structural schemas of CRDs, and the same shape for the built-in kinds.
import { isObject, type JsonObject, type JsonValue } from "../json.ts";

export interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly nullable?: boolean;
  readonly default?: JsonValue;
  readonly enum?: readonly JsonValue[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-embedded-resource"?: boolean;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  /** Built-in kinds only: how a strategic merge patch treats the list or map. */
  readonly "x-kubernetes-patch-strategy"?: string;
  readonly "x-kubernetes-patch-merge-key"?: string;
}

/** The schema below a key of an object: a property's, or that of a map's values; undefined where there is none. */
export function childOf(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema === undefined) return undefined;
  const { properties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  const rest = schema.additionalProperties;
  return typeof rest === "object" ? rest : undefined;
}

export function isIntOrString(schema: Schema): boolean {
  return schema["x-kubernetes-int-or-string"] === true || schema.format === "int-or-string";
}

/** The key fields of an item of a list of type map, defaults included. */
export function mapKeys(item: JsonValue, schema: Schema): JsonObject {
  const keys: JsonObject = {};
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const given = isObject(item) ? item[key] : undefined;
    const value = given === undefined ? schema.items?.properties?.[key]?.default : given;
    if (value !== undefined) keys[key] = value;
  }
  return keys;
}

/** Lists merge item by item only where the schema says so; a list without a word is atomic. */
export function listTypeOf(schema: Schema | undefined): "atomic" | "set" | "map" {
  return schema?.["x-kubernetes-list-type"] ?? "atomic";
}
