// Routes and DNS settings: copied from the configuration into the result, and compared at CHECK.
import { type Address, equal, parseAddress } from "../../net/address.ts";
import { type Cidr, parseCidr } from "../../net/prefix.ts";
import { type JsonObject, textOf } from "../json.ts";
import type { Findings } from "./findings.ts";

/** Attributes of CNI 1.1.0, passed on in every version: libcni reads and whereabouts prints them in all versions. */
const attributes = ["mtu", "advmss", "priority", "table", "scope"] as const;

type RouteAttributes = Readonly<Partial<Record<(typeof attributes)[number], number>>>;

export interface Route extends RouteAttributes {
  /** Host bits only where the configuration is lenient and has them. */
  readonly dst: Cidr;
  readonly gw?: Address;
}

export interface Dns {
  readonly nameservers?: readonly string[];
  readonly domain?: string;
  readonly search?: readonly string[];
  readonly options?: readonly string[];
}

export function parseRoutes(list: readonly JsonObject[], path: string, findings: Findings): Route[] {
  return list.flatMap((object, index) => parseRoute(object, `${path}[${index}]`, findings) ?? []);
}

function parseRoute(object: JsonObject, path: string, findings: Findings): Route | undefined {
  const dstText = textOf(object["dst"]);
  const dst = findings.attempt(`${path}.dst`, object["dst"], () => parseCidr(dstText, { unmap: true }));
  const gw = optionalAddress(object["gw"], `${path}.gw`, findings);
  if (dst === undefined) return undefined;
  if (!equal(dst.address, dst.prefix.network)) {
    const reason = `it has host bits, which the kernel refuses in a route; write ${dst.prefix}`;
    findings.dislike(`${path}.dst`, dstText, reason, "it is passed on as it is");
  }
  const numbers = attributes.flatMap((name) => (typeof object[name] === "number" ? [[name, object[name]]] : []));
  return { dst, ...(gw && { gw }), ...Object.fromEntries(numbers) };
}

export function optionalAddress(value: unknown, path: string, findings: Findings): Address | undefined {
  const text = textOf(value);
  return text === "" ? undefined : findings.attempt(path, text, () => parseAddress(text, { unmap: true }));
}

export function formatRoute({ dst, gw, ...rest }: Route): JsonObject {
  return { dst: formatCidr(dst), ...(gw && { gw: `${gw}` }), ...rest };
}

export function formatCidr({ address, prefix }: Cidr): string {
  return `${address}/${prefix.length}`;
}
