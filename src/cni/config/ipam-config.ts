// The IPAM configuration: text in, one immutable value out, or one error that names everything that is wrong.
//
// Promised: a returned configuration can be allocated from. Not promised: that it is wise, or that its gateway answers.
// docs/cni.md has every key. What whereabouts lets pass is a warning, and with `strict: true` a mistake.
import { type Address, parseAddress } from "../../net/address.ts";
import { type Cidr, parseCidr } from "../../net/prefix.ts";
import { maxRequested } from "../by-number.ts";
import { type Problem, errorCodes } from "../error.ts";
import { type JsonObject, freezeDeep, isZero, parseJsonObject, textOf } from "../json.ts";
import { type SpecVersion, atLeast } from "../version.ts";
import { Findings } from "./findings.ts";
import { ipamKeys } from "./keys.ts";
import { mergeFlatFile } from "./merge.ts";
import type { NetworkConfig } from "./network.ts";
import { isOfNodes, type Overlay, keyOf, overlayDomain, overlayFault, sourcesIn } from "./overlay.ts";
import type { OvnNetwork } from "./ovn-network.ts";
import { type IpamRange, parseRanges } from "./range.ts";
import { type Dns, type Route, optionalAddress, parseRoutes } from "./route.ts";
import { type Settings, parseSettings } from "./settings.ts";
import { shapeOf } from "./shape.ts";

/** One of `addresses`: asked for by number, with the gateway it is to have. */
interface StaticAddress {
  readonly cidr: Cidr;
  readonly gateway?: Address;
}

export interface IpamConfig extends Settings {
  readonly cniVersion: SpecVersion;
  /** The network's name, from the envelope; `networkName` is the one that separates domains. */
  readonly name: string;
  /** Undefined where it is not given: what whereabouts lets pass is let pass, what is new here is not. */
  readonly strict: boolean | undefined;
  /** `allowPersistentIPs`: addresses may stay with virtual machines. */
  readonly persistent: boolean;
  /** One address is given from each, in this order. */
  readonly ranges: readonly IpamRange[];
  /** Pods may ask for addresses by number: the capability `ips`, or `allow_requested_ips`. */
  readonly allowsRequests: boolean;
  /** From `addresses`; other sources join them in src/cni/static-request.ts. */
  readonly addresses: readonly StaticAddress[];
  readonly gateway?: Address;
  /** The gateway is never handed out. */
  readonly excludeGateway: boolean;
  readonly routes: readonly Route[];
  readonly dns: Dns;
  /** Our own plugin attaches the pod to this network of OVN. */
  readonly ovn?: OvnNetwork;
}

/** With the warnings and notices of Findings. */
export interface Parsed extends Readonly<Record<"warnings" | "notices", readonly Problem[]>> {
  readonly config: IpamConfig;
}

export interface FlatFile {
  readonly path: string;
  readonly text: string;
}

/** Throws CniError (code 7; 6 where the flat file is not JSON) with all problems. */
export function parseIpamConfig(network: NetworkConfig, flatFile?: FlatFile): Parsed {
  const flat = flatFile && parseJsonObject(flatFile.text, `the flat file ${flatFile.path}`, true);
  const findings = new Findings(strictOf(network.ipam, flat), flat && secretsOf(network.ipam, flat, flatFile.path));
  const overlay = judgeOverlay(network, findings);
  const merged = mergedOf(network, flat, flatFile?.path ?? "", findings);
  const parsed = parseRanges(merged, network.cniVersion, findings, overlay);
  const ranges = overlay && isOfNodes(overlay) ? parsed.map((range) => ({ ...range, isOfNodes: true })) : parsed;
  const gateway = parseGateway(merged["gateway"], ranges, findings);
  const config: IpamConfig = {
    cniVersion: network.cniVersion,
    name: network.name,
    strict: findings.strict,
    persistent: network.persistence.isAllowed,
    ranges,
    allowsRequests: network.declaresIps || merged["allow_requested_ips"] === true,
    addresses: parseStaticAddresses(merged["addresses"], network.cniVersion, findings),
    ...(gateway && { gateway }),
    excludeGateway:
      typeof merged["exclude_gateway"] === "boolean" ? merged["exclude_gateway"] : findings.strict !== false,
    routes: parseRoutes((merged["routes"] ?? []) as readonly JsonObject[], "ipam.routes", findings),
    dns: merged["dns"] ?? {},
    ...parseSettings(merged, ranges, findings),
    ...(network.ovn && { ovn: network.ovn }),
  };
  // Of a network of OVN without subnets pods have a port and no address.
  if (
    network.ovn === undefined &&
    ranges.length === 0 &&
    config.addresses.length === 0 &&
    findings.problems.length === 0
  ) {
    const reason =
      "there is nothing to take an address from; write range, ipRanges or addresses (subnets, where topology is layer2 or localnet)";
    findings.disallow("ipam.range", merged["range"], reason, "the result has no address");
  }
  findings.settle(errorCodes.badConfiguration, subjectOf(network.name));
  return freezeDeep({ config, warnings: findings.warnings, notices: findings.notices });
}

function subjectOf(name: string): string {
  return name === "" ? "the IPAM configuration" : `the IPAM configuration of the network ${name}`;
}

/** Has to be known before anything is judged; a `strict` of a wrong type is refused by shapeOf afterwards. */
function strictOf(inline: JsonObject, flat: JsonObject | undefined): boolean | undefined {
  const value = keyOf(inline, "strict") ?? keyOf(flat ?? {}, "strict");
  return typeof value === "boolean" ? value : undefined;
}

/** What a file of the node says is not repeated to whoever named the file. */
function secretsOf(inline: JsonObject, flat: JsonObject, path: string): (key: string) => boolean {
  const isGiven = (object: JsonObject, name: string) =>
    Object.entries(object).some(([key, value]) => key.toLowerCase() === name && !isZero(value));
  return (key) => {
    if (key.startsWith(`${path}: `)) return true;
    const name = /^ipam\.([^.[]+)/.exec(key)?.[1]?.toLowerCase() ?? "";
    return isGiven(flat, name) && !isGiven(inline, name);
  };
}

/** The overlay that the ranges come from (OVN's subnets); undefined where they come from `ipam`, as everywhere else. */
function judgeOverlay(
  { overlay, ovn, persistence, ipam, name }: NetworkConfig,
  findings: Findings,
): Overlay | undefined {
  const { fault } = persistence;
  if (fault !== undefined) findings.refuse(fault.key, fault.value, fault.reason);
  for (const { key, value, reason } of ovn?.faults ?? [])
    if (!findings.problems.some((known) => known.key === key)) findings.refuse(key, value, reason);
  for (const { key, value, reason } of ovn?.idle ?? []) findings.dislike(key, value, reason, "it is ignored");
  if (overlay === undefined || overlay.subnets.length + overlay.faults.length === 0) return undefined;
  const use = { isOurs: true, allowsPersistence: false, ...sourcesIn(ipam) };
  const own = fault === undefined ? overlayFault(overlay, use) : undefined;
  if (own !== undefined && !findings.problems.some(({ key }) => key === own.key))
    findings.refuse(own.key, own.value, own.reason);
  if (overlay.subnets.length === 0) return undefined;
  if (name === "" && (keyOf(ipam, "network_name") ?? "") === "" && fault?.key !== "name") {
    findings.refuse("name", name, "subnets are unique in the network of this name; write one");
  }
  return overlay;
}

function mergedOf(
  { ipam, overlay, name, persistence }: NetworkConfig,
  flat: JsonObject | undefined,
  path: string,
  findings: Findings,
): JsonObject {
  const inline = shapeOf(ipam, ipamKeys, "ipam.", findings);
  const isOverlay = overlay !== undefined && overlay.subnets.length > 0;
  const isNamed = isOverlay && name !== "" && (inline["network_name"] ?? "") === "";
  const shaped = isNamed ? { ...inline, network_name: overlayDomain(name) } : inline;
  if (flat === undefined) return shaped;
  const whole = shapeOf(flat, ipamKeys, `${path}: `, findings);
  const filler = isOverlay || overlay?.isAttached === true ? withoutRanges(whole) : whole;
  if (filler["enable_overlapping_ranges"] === false && shaped["enable_overlapping_ranges"] === undefined) {
    const reason =
      "has no effect: a flat file does not switch it off, as in whereabouts; write it into the network's own ipam object";
    findings.note(`${path}: enable_overlapping_ranges`, reason);
  }
  if (!isZero(filler["configuration_path"])) {
    findings.note(`${path}: configuration_path`, "has no effect: the daemon knows its node's name by --node-name");
  }
  if (filler["allowPersistentIPs"] === true && !persistence.isAllowed) {
    const reason =
      "has no effect: a flat file does not switch it on, since claims are made by definitions; write it into the network's own";
    findings.note(`${path}: allowPersistentIPs`, reason);
  }
  return mergeFlatFile(shaped, filler);
}

/** The network's own subnets are inline, and a flat file fills only what is missing there. */
function withoutRanges(flat: JsonObject): JsonObject {
  const { range: _range, range_start: _start, range_end: _end, exclude: _exclude, ipRanges: _ranges, ...rest } = flat;
  return rest;
}

/** Leading zeros are read, as in `range`. An address outside every range may be right: fe80::1, or one on the link. */
function parseGateway(value: unknown, ranges: readonly IpamRange[], findings: Findings): Address | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  const parsed = findings.attempt("ipam.gateway", value, () => parseAddress(value, { sloppy: true, unmap: true }));
  if (parsed !== undefined && ranges.length > 0 && !ranges.some((range) => range.prefix.family === parsed.family)) {
    const reason = `no range is IPv${parsed.family}, so no address could use it; write one of the ranges' family`;
    findings.dislike("ipam.gateway", value, reason, "it is left out of the result");
  }
  return parsed;
}

function parseStaticAddresses(value: unknown, version: SpecVersion, findings: Findings): StaticAddress[] {
  const list = (value ?? []) as readonly JsonObject[];
  if (list.length > maxRequested) {
    const reason = `one interface has no use for so many addresses; write ${maxRequested} at most`;
    findings.refuse("ipam.addresses", list.length, reason);
    return [];
  }
  const parsed = list.map((object, index) => parseStaticAddress(object, `ipam.addresses[${index}]`, findings));
  // A result before 0.3.0 has room for one address of each family.
  for (const family of atLeast(version, "0.3.0") ? [] : ([4, 6] as const)) {
    const second = parsed.flatMap((each, index) => (each?.cidr.address.family === family ? [index] : []))[1];
    if (second === undefined) continue;
    const reason = `a result of CNI ${version} has one IPv${family} address; keep one, or set cniVersion to 0.3.1 or later`;
    findings.refuse(`ipam.addresses[${second}].address`, `${parsed[second]!.cidr.address}`, reason);
  }
  return parsed.flatMap((address) => address ?? []);
}

function parseStaticAddress(object: JsonObject, path: string, findings: Findings): StaticAddress | undefined {
  const { address, gateway: gatewayText } = object;
  const cidr = findings.attempt(`${path}.address`, address, () => parseCidr(textOf(address), { unmap: true }));
  const gateway = optionalAddress(gatewayText, `${path}.gateway`, findings);
  if (cidr === undefined) return undefined;
  if (gateway !== undefined && gateway.family !== cidr.address.family) {
    const reason = `it is IPv${gateway.family} and the address is IPv${cidr.address.family}; write one of its family`;
    findings.dislike(`${path}.gateway`, gatewayText, reason, "it is left out");
    return { cidr };
  }
  return { cidr, ...(gateway && { gateway }) };
}
