// The metadata of any object, as far as this system reads it. All of it is optional: an object that is about to be
// created has no uid yet. What is not named here survives.
import { z } from "zod";

const texts = z.record(z.string(), z.string());

export const metadata = z.looseObject({
  name: z.string().optional(),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  labels: texts.optional(),
  annotations: texts.optional(),
  finalizers: z.array(z.string()).optional(),
});

export type Metadata = z.infer<typeof metadata>;

type Texts = Readonly<Record<string, string>>;

type Names = "name" | "namespace" | "uid" | "resourceVersion";

/** Metadata to be read, from whichever client, cache or test it came. */
export interface ReadMetadata extends Readonly<Partial<Record<Names, string | undefined>>> {
  readonly labels?: Texts | undefined;
  readonly annotations?: Texts | undefined;
  readonly finalizers?: readonly string[] | undefined;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** An object that may have owners. */
export interface OwnedObject {
  readonly metadata: ReadMetadata & { readonly ownerReferences?: readonly OwnerReference[] | undefined };
}

/** The name of an object for a sentence: `IPPool kube-system/10.0.0.0-8`. */
export function describeObject(kind: string, { namespace, name = "(no name yet)" }: ReadMetadata): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
