// From a CustomResourceDefinition to the resources it brings, one per served version.
import { timestamp } from "../../kube/clock.ts";
import { dig, digList, digObject, digString, equal, isObject, type JsonObject, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import { objectMetaSchema } from "../schema/builtin.ts";
import type { Schema } from "../schema/schema.ts";
import type { PrinterColumn, Resource } from "./resource.ts";

export const crdStorage = "apiextensions.k8s.io/customresourcedefinitions";

/** Objects of a CRD are collected before the CRD goes; this keeps it until then. */
export const crdFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export function conditionOf(object: KubeObject, type: string): JsonObject | undefined {
  return digList(object, "status", "conditions")
    .filter(isObject)
    .find((condition) => condition["type"] === type);
}

export type Condition = Readonly<Record<"type" | "status", string>> & JsonObject;

/** The object with the condition; the very same object if it has it already. The time is that of the last change. */
export function objectWithCondition(object: KubeObject, condition: Condition, nowMs: number): KubeObject {
  const known = conditionOf(object, condition.type);
  if (known !== undefined && equal({ ...known, ...condition }, known)) return object;
  const status = digObject(object, "status");
  const others = digList(status, "conditions").filter((each) => each !== known);
  const conditions = [...others, { ...condition, lastTransitionTime: timestamp(nowMs) }];
  return { ...object, status: { ...status, conditions } };
}

const strings = (values: readonly unknown[]) => values.filter((value) => typeof value === "string");

/** Nothing unless the CRD is established. */
export function resourcesOf(crd: KubeObject): Resource[] {
  if (conditionOf(crd, "Established")?.["status"] !== "True") return [];
  const versions = digList(crd, "spec", "versions").filter(isObject);
  const storage = textOf(versions.find((version) => version["storage"] === true)?.["name"]);
  return versions.filter((version) => version["served"] === true).map((version) => resourceOf(crd, version, storage));
}

function resourceOf(crd: KubeObject, version: JsonObject, storageVersion: string): Resource {
  const group = digString(crd, "spec", "group")!;
  const names = digObject(crd, "status", "acceptedNames");
  const kind = textOf(names["kind"]);
  const plural = textOf(names["plural"]);
  const name = textOf(version["name"]);
  const selectable = digList(version, "selectableFields").map((field) => digString(field, "jsonPath")?.slice(1) ?? "");
  const warning = digString(version, "deprecationWarning");
  return {
    group,
    plural,
    kind,
    version: name,
    singular: textOf(names["singular"] ?? kind.toLowerCase()),
    listKind: textOf(names["listKind"] ?? `${kind}List`),
    namespaced: dig(crd, "spec", "scope") === "Namespaced",
    shortNames: strings(digList(names, "shortNames")),
    categories: strings(digList(names, "categories")),
    subresources: dig(version, "subresources", "status") === undefined ? [] : ["status"],
    storage: `${group}/${plural}`,
    storageVersion: `${group}/${storageVersion}`,
    schema: schemaOf(crd, version),
    definition: `${group.split(".").reverse().join(".")}.${name}.${kind}`,
    custom: {
      columns: columnsOf(version),
      crdName: crd.metadata.name!,
      schemaRevision: Number(crd.metadata.resourceVersion ?? 0),
    },
    nameRule: "subdomain",
    generation: true,
    unconditionalUpdate: false,
    selectableFields: Object.fromEntries(selectable.map((path) => [path, path])),
    ...(version["deprecated"] === true
      ? { deprecationWarning: warning ?? `${group}/${name} ${kind} is deprecated` }
      : {}),
  };
}

function schemaOf(crd: KubeObject, version: JsonObject): Schema {
  const given = digObject(version, "schema", "openAPIV3Schema") as unknown as Schema;
  return {
    ...given,
    ...(dig(crd, "spec", "preserveUnknownFields") === true ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
    properties: {
      ...given.properties,
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: objectMetaSchema(),
    },
  };
}

function columnsOf(version: JsonObject): PrinterColumn[] {
  const given = digList(version, "additionalPrinterColumns").filter(isObject) as PrinterColumn[];
  return given.length > 0 ? given : [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }];
}
