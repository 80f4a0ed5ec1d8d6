// `spec.range` of IPPools and NodeSlicePools: CIDR notation, as whereabouts reads it.
import { z } from "zod";

import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import { type Cidr, parseCidr } from "../../net/prefix.ts";
import { ObjectError } from "../error.ts";

/** Leading zeros allowed, ::ffff:a.b.c.d is IPv4, host bits kept. */
export function parseRange(text: string): Cidr {
  const read = () => parseCidr(text, { sloppy: true, unmap: true });
  return attempt(NetError, read, (error) => {
    throw new ObjectError("bad-range", `spec.range: ${error.message}`, { cause: error });
  });
}

const isRange = (text: string) => attempt(ObjectError, () => parseRange(text)) !== undefined;

/** Checked here and not by the API server, whose patterns cannot tell an address from what only looks like one. */
export const range = z.string().refine(isRange, "expected a range in CIDR notation, like 10.0.0.0/24 or fd00::/64");
