// The metadata of any object, as far as this system reads it. All of it is optional: an object that is about to be created
// has no uid yet. What is not named here survives.
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

/** What tells an object from others: the part that any metadata has, from whichever client it came. */
export interface Identified {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

/** The name of an object for a sentence: `IPPool kube-system/10.0.0.0-8`. */
export function describeObject(kind: string, { namespace, name = "(no name yet)" }: Identified): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
