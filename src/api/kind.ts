// A kind as a value: its schema and what the API server must know beside it. CRDs, types and parsers all come from here.
import type { z } from "zod";

import { ObjectError } from "./error.ts";
import { describeObject, type Metadata } from "./metadata.ts";

/** A column that `kubectl get` prints beside the name. */
interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  /** Above 0: only with `-o wide`. */
  readonly priority?: number;
}

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
  readonly columns: readonly Column[];
  /** No status subresource, although it has a status: others write it by plain updates. */
  readonly plainStatus?: true;
}

export const whereaboutsGroup = "whereabouts.cni.cncf.io";
/** Ours: the kind Hold, and the prefix of every label and annotation that we add to objects of others. */
export const holdfastGroup = "holdfast.io";

export function apiVersionOf({ group, version }: Pick<Kind, "group" | "version">): string {
  return `${group}/${version}`;
}

/**
 * The value as an object of the kind, with defaults filled in and unknown fields kept. Refuses with every wrong field,
 * what was found there and what is expected.
 */
export function parseObject<S extends z.ZodType<KindObject>>(kind: Kind<S>, value: unknown): z.infer<S> {
  const result = kind.schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => {
    const field = path.map(String).join(".");
    return `${field === "" ? "the object" : field} is ${found(value, path)}: ${message}`;
  });
  throw new ObjectError(
    "bad-object",
    `${describeObject(kind.kind, metadataOf(value))} is not valid: ${faults.join("; ")}. Correct what is named, or delete the object.`,
    { cause: result.error },
  );
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
