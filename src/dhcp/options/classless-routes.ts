// Classless static routes (RFC 3442): the mask's width, as many bytes of the destination as it needs, the router.
import { V4Address } from "../../net/address.ts";
import { Prefix } from "../../net/prefix.ts";
import { type Fault, fault } from "../fault.ts";
import { readUint } from "./bytes.ts";
import type { Route } from "./value.ts";

const bad = fault("bad-value", "A list of routes is empty, ends within a route, or has a mask of more than 32 bits.");

/** Destinations are IPv4. A router of 0.0.0.0 means that the destination is on the link. */
export function encodeRoutes(routes: readonly Route[]): Uint8Array {
  const bytes: number[] = [];
  for (const { destination, router } of routes) {
    const network = (destination.network as V4Address).value;
    bytes.push(destination.length);
    for (let i = 0; i < significantBytes(destination.length); i++) bytes.push((network >>> (24 - 8 * i)) & 0xff);
    for (let i = 0; i < 4; i++) bytes.push((router.value >>> (24 - 8 * i)) & 0xff);
  }
  return Uint8Array.from(bytes);
}

/** Bits of a destination beyond its mask are taken for zero. */
export function decodeRoutes(bytes: Uint8Array): readonly Route[] | Fault {
  const routes: Route[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at]!;
    const significant = significantBytes(length);
    if (length > 32 || at + 1 + significant + 4 > bytes.length) return bad;
    const network = readUint(bytes, at + 1, significant) * 256 ** (4 - significant);
    const router = new V4Address(readUint(bytes, at + 1 + significant, 4));
    routes.push({ destination: Prefix.around(new V4Address(network), length), router });
    at += 1 + significant + 4;
  }
  return routes.length > 0 ? routes : bad;
}

function significantBytes(length: number): number {
  return Math.ceil(length / 8);
}
