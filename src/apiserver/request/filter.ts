// Which objects a list, a watch or a deletecollection is about: namespace, label selector, field selector.
import { dig, digString, textOf } from "../json.ts";
import type { KubeObject } from "../object.ts";
import type { Resource } from "../registry/resource.ts";
import { matchesLabels, parseFieldSelector, parseLabelSelector } from "../selector.ts";
import { badRequest } from "../status.ts";
import type { Entry } from "../store/entry.ts";
import type { Context } from "./context.ts";

export type Filter = (entry: Entry) => boolean;

/** Undefined when everything matches, so that nothing needs to be parsed. */
export function filterOf(context: Context): Filter | undefined {
  const labels = parseLabelSelector(context.query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(context.query.get("fieldSelector") ?? "").map(({ field, equals, value }) => ({
    equals,
    value,
    read: readerOf(context.resource, field),
  }));
  const { name } = context;
  if (labels.length === 0 && fields.length === 0 && name === "") return undefined;
  return (entry) => {
    if (name !== "" && entry.name !== name) return false;
    const { object } = entry;
    if (!matchesLabels(labels, object.metadata.labels)) return false;
    return fields.every(({ read, equals, value }) => (read(object) === value) === equals);
  };
}

function readerOf(resource: Resource, field: string): (object: KubeObject) => string {
  if (field === "metadata.name") return (object) => object.metadata.name ?? "";
  if (field === "metadata.namespace") return (object) => object.metadata.namespace ?? "";
  const { selectableFields } = resource;
  const path = Object.hasOwn(selectableFields, field) ? selectableFields[field] : undefined;
  if (path === undefined) {
    const known = ["metadata.name", "metadata.namespace", ...Object.keys(selectableFields)];
    throw badRequest(
      `${JSON.stringify(field)} is not a known field selector: only ${known.map((name) => JSON.stringify(name)).join(", ")}`,
    );
  }
  const parts = path.split(".");
  // The reporting component of an event stands in either of two fields.
  if (field === "source") {
    return (object) => digString(object, ...parts) || (digString(object, "reportingComponent") ?? "");
  }
  return (object) => {
    const value = dig(object, ...parts);
    // Absent booleans select as "false", since the real server reads them out of a struct.
    if (value === undefined) return field === "spec.unschedulable" || field === "spec.hostNetwork" ? "false" : "";
    return textOf(value);
  };
}
