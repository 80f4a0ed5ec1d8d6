// Parts of schemas that several kinds share, and texts of JSON in annotations.
import { z } from "zod";

import { attempt } from "../net/coded-error.ts";

/** How many addresses. A number where it is exact, as the fork writes; decimal text beyond 2^53 - 1: an IPv6 /64. */
export const count = z
  .union([z.int().nonnegative(), z.string().regex(/^\d+$/)])
  .meta({ "x-kubernetes-int-or-string": true });

export type Count = z.infer<typeof count>;

/** The form in which a count is written. */
export function countOf(value: bigint): Count {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString();
}

/** The text as JSON of that shape; undefined: it is none. */
export function readJson<T>(schema: z.ZodType<T>, text: string): T | undefined {
  return attempt(SyntaxError, () => schema.safeParse(JSON.parse(text)).data);
}

/** As meta/v1 has it. Only type and status are demanded: what others leave out is no reason to refuse their object. */
export const conditions = z
  .array(
    z.looseObject({
      type: z.string(),
      status: z.enum(["True", "False", "Unknown"]),
      reason: z.string().optional(),
      message: z.string().optional(),
      lastTransitionTime: z.string().meta({ format: "date-time" }).optional(),
      observedGeneration: z.int().optional(),
    }),
  )
  .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] });
