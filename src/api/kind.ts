// A kind as a value: its schema and what the API server must know beside it. CRDs, types and parsers come from here.
import { z } from "zod";

import { ObjectError } from "./error.ts";
import { describeObject, metadata, type Metadata } from "./metadata.ts";

export interface KindObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [field: string]: unknown;
}

export interface Kind<S extends z.ZodType<KindObject> = z.ZodType<KindObject>> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly schema: S;
  /** What `kubectl get` prints beside the name: title, path, and 1 where only `-o wide` does. */
  readonly columns: readonly (readonly [name: string, jsonPath: string, priority?: 1])[];
  /** No status subresource, although it has a status: others write it by plain updates. */
  readonly plainStatus?: true;
}

export const whereaboutsGroup = "whereabouts.cni.cncf.io";
/** Ours: the kind Hold, and the prefix of every label and annotation that we add to objects of others. */
export const holdfastGroup = "holdfast.io";

export function apiVersionOf({ group, version }: Pick<Kind, "group" | "version">): string {
  return `${group}/${version}`;
}

type About = Pick<Kind, "description" | "columns" | "plainStatus"> & { readonly shortNames?: readonly string[] };

/** A kind, with what follows from its name. All of them have the version v1alpha1. */
export function defineKind<G extends string, K extends string, Fields extends z.core.$ZodShape>(
  group: G,
  kind: K,
  fields: Fields,
  { shortNames = [], ...about }: About,
) {
  const version = "v1alpha1";
  const apiVersion = z.literal(`${group}/${version}` as const);
  const schema = z.looseObject({ apiVersion, kind: z.literal(kind), metadata, ...fields });
  const singular = kind.toLowerCase();
  return { group, version, kind, plural: `${singular}s`, singular, shortNames, schema, ...about };
}

/** The value as an object of the kind, with defaults and unknown fields. Refuses with every wrong field, and why. */
export function parseObject<S extends z.ZodType<KindObject>>(kind: Kind<S>, value: unknown): z.infer<S> {
  const result = kind.schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => {
    const field = path.map(String).join(".");
    return `${field === "" ? "the object" : field} is ${found(value, path)}: ${message}`;
  });
  const words = `${describeObject(kind.kind, metadataOf(value))} is not valid: ${faults.join("; ")}. Correct what is named, or delete the object.`;
  throw new ObjectError("bad-object", words, { cause: result.error });
}

/** Enough to recognise a value in a sentence. */
const longestQuote = 60;

function found(value: unknown, path: readonly PropertyKey[]): string {
  let here = value;
  for (const step of path) here = (here as Record<PropertyKey, unknown> | null | undefined)?.[step];
  if (here === undefined) return "missing";
  const text = JSON.stringify(here);
  return text.length > longestQuote ? `${text.slice(0, longestQuote)}...` : text;
}

function metadataOf(value: unknown): Metadata {
  const { name, namespace } = (value as { metadata?: Record<string, unknown> } | null | undefined)?.metadata ?? {};
  return {
    ...(typeof name === "string" && { name }),
    ...(typeof namespace === "string" && { namespace }),
  };
}
