// `spec.range` of IPPools and NodeSlicePools: CIDR notation, as whereabouts reads it.
import { z } from "zod";

import { NetError } from "../../net/error.ts";
import { type Cidr, parseCidr } from "../../net/prefix.ts";
import { ObjectError } from "../error.ts";

/** Leading zeros allowed, ::ffff:a.b.c.d is IPv4, host bits kept. */
export function parseRange(text: string): Cidr {
  try {
    return parseCidr(text, { sloppy: true, unmap: true });
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    throw new ObjectError("bad-range", `spec.range: ${error.message}`, { cause: error });
  }
}

/** Checked here and not by the API server, whose patterns cannot tell an address from what only looks like one. */
export const range = z.string().refine(isRange, "expected a range in CIDR notation, like 10.0.0.0/24 or fd00::/64");

function isRange(text: string): boolean {
  try {
    parseRange(text);
    return true;
  } catch (error) {
    if (error instanceof ObjectError) return false;
    throw error;
  }
}
