// The result of an ADD as a value, whatever the version, and how each version of the specification writes it.
//
// 0.1.0 and 0.2.0: one `ip4` and one `ip6`, with the routes of their family inside. 0.3.0 to 0.4.0: `ips` with
// `version`; from 1.0.0: without it. An earlier version lacks the attributes that a later one added to interfaces.
import type { Address, Family } from "../net/address.ts";
import type { Cidr } from "../net/prefix.ts";
import { type Dns, formatCidr, formatRoute, type Route } from "./config/route.ts";
import type { JsonObject } from "./json.ts";
import { atLeast, type SpecVersion } from "./version.ts";

export interface ResultIp {
  readonly address: Cidr;
  readonly gateway?: Address;
  /** Index into `interfaces`. An IPAM plugin has none. */
  readonly interface?: number;
}

export interface ResultInterface {
  readonly name: string;
  readonly mac?: string;
  readonly mtu?: number;
  readonly sandbox?: string;
  readonly socketPath?: string;
  readonly pciID?: string;
}

export interface CniResult {
  readonly interfaces: readonly ResultInterface[];
  readonly ips: readonly ResultIp[];
  readonly routes: readonly Route[];
  readonly dns: Dns;
}

/**
 * In the form of that version. The two oldest have one address of each family: the first is written, as libcni does;
 * parseIpamConfig and staticRequests have refused before what would not fit.
 */
export function formatResult(result: CniResult, version: SpecVersion): JsonObject {
  if (!atLeast(version, "0.3.0")) return formatOld(result, version);
  const { interfaces, ips, routes, dns } = result;
  return {
    cniVersion: version,
    ...(interfaces.length > 0 && { interfaces: interfaces.map((item) => formatInterface(item, version)) }),
    ...(ips.length > 0 && { ips: ips.map((ip) => formatIp(ip, version)) }),
    ...(routes.length > 0 && { routes: routes.map(formatRoute) }),
    dns,
  };
}

function formatOld(result: CniResult, version: SpecVersion): JsonObject {
  const ip4 = formatFamily(result, 4);
  const ip6 = formatFamily(result, 6);
  return { cniVersion: version, ...(ip4 && { ip4 }), ...(ip6 && { ip6 }), dns: result.dns };
}

function formatFamily({ ips, routes }: CniResult, family: Family): JsonObject | undefined {
  const ip = ips.find((candidate) => candidate.address.address.family === family);
  if (ip === undefined) return undefined;
  const own = routes.filter((route) => route.dst.address.family === family);
  return {
    ip: formatCidr(ip.address),
    ...(ip.gateway && { gateway: `${ip.gateway}` }),
    ...(own.length > 0 && { routes: own.map(formatRoute) }),
  };
}

function formatIp({ address, gateway, interface: index }: ResultIp, version: SpecVersion): JsonObject {
  return {
    ...(!atLeast(version, "1.0.0") && { version: `${address.address.family}` }),
    ...(index !== undefined && { interface: index }),
    address: formatCidr(address),
    ...(gateway && { gateway: `${gateway}` }),
  };
}

function formatInterface(item: ResultInterface, version: SpecVersion): JsonObject {
  if (atLeast(version, "1.1.0")) return { ...item };
  const { name, mac, sandbox } = item;
  return { name, ...(mac !== undefined && { mac }), ...(sandbox !== undefined && { sandbox }) };
}
