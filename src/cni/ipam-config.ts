// The IPAM configuration: text in, one immutable value out, or one error that names everything that is wrong.
//
// Promised: a config that was returned can be allocated from. Not promised: that it is wise, or that its gateway answers.
// docs/cni.md has every key; `strict: false` keeps the leniency of whereabouts, with a warning for each thing it let pass.
import { type Address, parseAddress } from "../net/address.ts";
import { errorCodes, type Problem } from "./error.ts";
import { Findings } from "./findings.ts";
import { freezeDeep, type JsonObject, parseJsonObject } from "./json.ts";
import { ipamKeys } from "./keys.ts";
import { mergeFlatFile } from "./merge.ts";
import type { NetworkConfig } from "./network.ts";
import type { IpamRange } from "./range.ts";
import { parseRanges } from "./ranges.ts";
import { type Dns, parseRoute, type Route } from "./route.ts";
import { parseSettings, type Settings } from "./settings.ts";
import { shapeOf } from "./shape.ts";
import { parseStaticAddresses, type StaticAddress } from "./static-address.ts";
import type { SpecVersion } from "./version.ts";

export interface IpamConfig extends Settings {
  readonly cniVersion: SpecVersion;
  /** The network's name, from the envelope; `networkName` is the one that separates domains. */
  readonly name: string;
  readonly strict: boolean;
  /** One address is given from each, in this order. */
  readonly ranges: readonly IpamRange[];
  /** From `addresses`; other sources join them in static-request.ts. */
  readonly addresses: readonly StaticAddress[];
  readonly gateway?: Address;
  /** The gateway is never handed out. */
  readonly excludeGateway: boolean;
  readonly routes: readonly Route[];
  readonly dns: Dns;
}

export interface Parsed {
  readonly config: IpamConfig;
  readonly warnings: readonly Problem[];
}

export interface FlatFile {
  readonly path: string;
  readonly text: string;
}

/** Throws CniError (code 7; 6 where the flat file is not JSON) with all problems. */
export function parseIpamConfig(network: NetworkConfig, flatFile?: FlatFile): Parsed {
  const flat = flatFile && parseJsonObject(flatFile.text, `the flat file ${flatFile.path}`);
  const findings = new Findings(isStrict(network.ipam, flat));
  const merged = mergedOf(network.ipam, flat, flatFile?.path ?? "", findings);
  const ranges = parseRanges(merged, network.cniVersion, findings);
  const gateway = parseGateway(merged["gateway"], ranges, findings);
  const config: IpamConfig = {
    cniVersion: network.cniVersion,
    name: network.name,
    strict: findings.strict,
    ranges,
    addresses: parseStaticAddresses(merged["addresses"], network.cniVersion, findings),
    ...(gateway && { gateway }),
    excludeGateway: typeof merged["exclude_gateway"] === "boolean" ? merged["exclude_gateway"] : findings.strict,
    routes: parseRoutes(merged["routes"], findings),
    dns: merged["dns"] ?? {},
    ...parseSettings(merged, ranges, findings),
  };
  if (ranges.length === 0 && config.addresses.length === 0 && findings.problems.length === 0) {
    const reason = "there is nothing to take an address from; write range, ipRanges or addresses";
    findings.dislike("ipam.range", merged["range"], reason, "the result has no address");
  }
  findings.settle(errorCodes.badConfiguration, subjectOf(network.name));
  return freezeDeep({ config, warnings: findings.warnings });
}

function subjectOf(name: string): string {
  return name === "" ? "the IPAM configuration" : `the IPAM configuration of the network ${name}`;
}

/** Has to be known before anything is judged; a `strict` of a wrong type is refused by shapeOf afterwards. */
function isStrict(inline: JsonObject, flat: JsonObject | undefined): boolean {
  return (strictIn(inline) ?? strictIn(flat ?? {}) ?? true) !== false;
}

function strictIn(object: JsonObject): unknown {
  return object["strict"] ?? Object.entries(object).findLast(([key]) => key.toLowerCase() === "strict")?.[1];
}

function mergedOf(inline: JsonObject, flat: JsonObject | undefined, path: string, findings: Findings): JsonObject {
  const shaped = shapeOf(inline, ipamKeys, "ipam.", findings);
  if (flat === undefined) return shaped;
  const filler = shapeOf(flat, ipamKeys, `${path}: `, findings);
  if (filler["enable_overlapping_ranges"] === false && shaped["enable_overlapping_ranges"] === undefined) {
    const reason = "a flat file does not switch it off, as in whereabouts; write it into the network's own ipam object";
    findings.warn(`${path}: enable_overlapping_ranges`, false, reason);
  }
  return mergeFlatFile(shaped, filler);
}

/** Leading zeros are read, as in `range`. Outside every range it may still be right: fe80::1, or one that is on the link. */
function parseGateway(value: unknown, ranges: readonly IpamRange[], findings: Findings): Address | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const parsed = findings.attempt("ipam.gateway", value, () => parseAddress(value, { sloppy: true, unmap: true }));
  if (parsed !== undefined && ranges.length > 0 && !ranges.some((range) => range.prefix.family === parsed.family)) {
    const reason = `no range is IPv${parsed.family}, so no address could use it; write one of the ranges' family`;
    findings.dislike("ipam.gateway", value, reason, "it is left out of the result");
  }
  return parsed;
}

function parseRoutes(value: unknown, findings: Findings): Route[] {
  const list = (value ?? []) as readonly JsonObject[];
  return list.flatMap((object, index) => parseRoute(object, `ipam.routes[${index}]`, findings) ?? []);
}
