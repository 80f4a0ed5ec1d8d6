// Addresses asked for by number, from every source: one list, each with its sources and the range it stands for.
//
// A static address in the network of a range is that range's address: the pod gets one, not two (whereabouts gives
// both). An address that the definition lists may be in no range, and is then held by itself; by-number.ts binds the
// other sources. Sources that contradict each other are refused: none of them is obeyed.
import { type Address, equal, parseAddress } from "../net/address.ts";
import { type Cidr, contains, parseCidr, Prefix } from "../net/prefix.ts";
import { consentFault, maxRequested, placeFault } from "./by-number.ts";
import { Findings } from "./config/findings.ts";
import type { IpamConfig } from "./config/ipam-config.ts";
import { gives } from "./config/range.ts";
import { formatCidr } from "./config/route.ts";
import { errorCodes } from "./error.ts";
import type { CniArgs } from "./invocation.ts";
import { isObject, type JsonObject } from "./json.ts";
import { atLeast } from "./version.ts";

/** Where an address can be asked for by number. */
type StaticSource =
  | "ipam.addresses"
  | "CNI_ARGS IP"
  | "runtimeConfig.ips"
  | "args.cni.ips"
  | "network selection"
  | "IPAMClaim";

export interface StaticInputs {
  readonly args?: Pick<CniArgs, "ips" | "gateways">;
  readonly runtimeConfig?: JsonObject;
  /** `args` of the network configuration. */
  readonly configArgs?: JsonObject;
  /** `ips` of the pod's network selection element, where the daemon has read it. */
  readonly selection?: readonly string[];
  /** What the claim that the pod goes by, or its VM, asks for. */
  readonly claim?: readonly string[];
  /** CHECK: what was given stays given, whatever the network lets its pods ask for by now. */
  readonly isGiven?: boolean;
}

/** One address that is asked for by number, as text. */
interface Ask {
  readonly source: StaticSource;
  readonly key: string;
  /** An address, or address/length. */
  readonly text: string;
  readonly gateway?: Address;
}

export interface StaticRequest {
  readonly cidr: Cidr;
  readonly gateway?: Address;
  readonly sources: readonly StaticSource[];
  /** Index into `config.ranges` of the range whose address this is; undefined where it is in none. */
  readonly range?: number;
  /** The range's pool can give it. False: the definition lists what its pool does not; it is held beside the pool. */
  readonly inPool: boolean;
}

/**
 * Requests in the order of the inputs, each address once. Throws CniError with all problems: code 7 for what is wrong
 * in itself, 101 for what may not be asked for.
 */
export function staticRequests(config: IpamConfig, inputs: StaticInputs) {
  const findings = new Findings(config.strict);
  const refused = new Findings(config.strict);
  const requests: StaticRequest[] = [];
  const asks = asksOf(config, inputs, findings);
  const unasked = asks.find(({ source }) => needsConsent(source));
  const fault = unasked && consentFault(config);
  if (unasked && fault !== undefined) refused.refuse(unasked.key, unasked.text, fault);
  for (const ask of asks) {
    const request = requestOf(ask, config, requests, { findings, refused });
    if (request !== undefined) join(requests, request, ask, findings);
  }
  const complete = addGateways(requests, inputs.args?.gateways ?? [], findings);
  judgeCount(complete, config, findings);
  const asked = complete.filter(({ sources }) => !sources.includes("ipam.addresses")).length;
  if (asked > maxRequested)
    refused.refuse("ips", asked, `one interface has no use for so many; ask for ${maxRequested} at most`);
  findings.settle(errorCodes.badConfiguration, subject);
  if (inputs.isGiven !== true) refused.settle(errorCodes.refused, subject);
  return { requests: complete, warnings: findings.warnings };
}

const subject = "the request for static addresses";

/** The configuration's first, then from the least to the most specific to this pod. */
function asksOf(config: IpamConfig, inputs: StaticInputs, findings: Findings): Ask[] {
  const cni = inputs.configArgs?.["cni"];
  return [
    ...config.addresses.map(({ cidr, gateway }, index): Ask => {
      const key = `ipam.addresses[${index}].address`;
      return { source: "ipam.addresses", key, text: formatCidr(cidr), ...(gateway && { gateway }) };
    }),
    ...fromList("args.cni.ips", isObject(cni) ? cni["ips"] : undefined, findings),
    ...fromList("runtimeConfig.ips", inputs.runtimeConfig?.["ips"], findings),
    ...fromList("network selection", inputs.selection, findings),
    ...fromList("IPAMClaim", inputs.claim, findings),
    ...fromList("CNI_ARGS IP", inputs.args?.ips, findings),
  ];
}

function fromList(source: StaticSource, value: unknown, findings: Findings): Ask[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.length > maxRequested) {
    const reason = `one interface has no use for so many addresses; ask for ${maxRequested} at most`;
    findings.refuse(source, value.length, reason);
    return [];
  }
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) {
    return value.map((text, index) => ({ source, key: `${source}[${index}]`, text }));
  }
  findings.refuse(source, value, 'write a list of addresses, like ["10.0.0.7/24"]');
  return [];
}

/** What a definition lists is its own word. A claim's has `allowPersistentIPs`: a VM may name the address it keeps. */
function needsConsent(source: StaticSource): boolean {
  return source !== "ipam.addresses" && source !== "IPAMClaim";
}

function requestOf(
  ask: Ask,
  config: IpamConfig,
  earlier: readonly StaticRequest[],
  { findings, refused }: Record<"findings" | "refused", Findings>,
): StaticRequest | undefined {
  const parsed = findings.attempt(ask.key, ask.text, () => parseAsk(ask.text));
  if (parsed === undefined) return undefined;
  const { address, length } = parsed;
  const fault = placeFault(config, address);
  const range = rangeOf(address, config, earlier);
  const known = range === undefined ? undefined : config.ranges[range]!;
  const bits = length ?? known?.prefix.length;
  if (fault !== undefined && ask.source !== "ipam.addresses") refused.refuse(ask.key, ask.text, fault);
  if (bits === undefined) return undefined;
  const cidr = { address, prefix: Prefix.around(address, bits) };
  const { gateway } = ask;
  const place = range === undefined ? { inPool: false } : { range, inPool: fault === undefined };
  return { cidr, ...(gateway && { gateway }), sources: [ask.source], ...place };
}

function parseAsk(text: string): { address: Address; length?: number } {
  if (!text.includes("/")) return { address: parseAddress(text, { unmap: true }) };
  const { address, prefix } = parseCidr(text, { unmap: true });
  return { address, length: prefix.length };
}

/**
 * The range that an address stands for. Ranges may share a network: first comes a range that can give the address, then
 * one that no other static address stands for yet, then the narrowest, then the first.
 */
function rangeOf(address: Address, config: IpamConfig, earlier: readonly StaticRequest[]): number | undefined {
  const taken = (index: number) =>
    earlier.some((request) => request.range === index && !equal(request.cidr.address, address));
  return config.ranges
    .map((range, index) => ({ range, index }))
    .filter(({ range }) => contains(range.prefix, address))
    .sort(
      (a, b) =>
        Number(gives(b.range, address)) - Number(gives(a.range, address)) ||
        Number(taken(a.index)) - Number(taken(b.index)) ||
        b.range.prefix.length - a.range.prefix.length ||
        a.index - b.index,
    )[0]?.index;
}

/** Adds a request, or adds its source to the one for the same address, or says how it contradicts one. */
function join(requests: StaticRequest[], request: StaticRequest, ask: Ask, findings: Findings): void {
  const refuse = (reason: string) => findings.refuse(ask.key, ask.text, reason);
  const at = requests.findIndex((other) => equal(other.cidr.address, request.cidr.address));
  const same = requests[at];
  if (same === undefined) {
    const rival = requests.find((other) => other.range !== undefined && other.range === request.range);
    if (rival === undefined) requests.push(request);
    else refuse(`${whoOf(rival)} asks for ${rival.cidr.address} in the same range, which gives one; keep one of them`);
    return;
  }
  const { length } = same.cidr.prefix;
  if (length !== request.cidr.prefix.length) {
    refuse(`${whoOf(same)} asks for it with /${length}; write the same length`);
  } else if (same.gateway && request.gateway && !equal(same.gateway, request.gateway)) {
    refuse(`${whoOf(same)} gives it the gateway ${same.gateway}; write the same gateway`);
  } else {
    const gateway = same.gateway ?? request.gateway;
    const sources = [...new Set([...same.sources, ...request.sources])];
    requests[at] = { ...same, ...(gateway && { gateway }), sources };
  }
}

function whoOf({ sources }: StaticRequest): string {
  return sources.join(" and ");
}

/** GATEWAY= goes to each static address whose network contains it and that has none yet. */
function addGateways(
  requests: readonly StaticRequest[],
  texts: readonly string[],
  findings: Findings,
): StaticRequest[] {
  const key = "CNI_ARGS GATEWAY";
  const gateways = texts.flatMap(
    (text) => findings.attempt(key, text, () => parseAddress(text, { sloppy: true, unmap: true })) ?? [],
  );
  for (const gateway of gateways) {
    const users = requests.filter(({ cidr }) => contains(cidr.prefix, gateway));
    const rival = users.find((user) => user.gateway !== undefined && !equal(user.gateway, gateway));
    if (users.length === 0) {
      const reason = "it is in the network of no static address; write one that is, or remove it";
      findings.dislike(key, `${gateway}`, reason, "it is ignored");
    } else if (rival !== undefined) {
      const reason = `${whoOf(rival)} gives ${rival.cidr.address} the gateway ${rival.gateway!}; keep one of them`;
      findings.refuse(key, `${gateway}`, reason);
    }
  }
  return requests.map((request) => {
    const gateway = request.gateway ?? gateways.find((candidate) => contains(request.cidr.prefix, candidate));
    return gateway === undefined ? request : { ...request, gateway };
  });
}

/** 0.1.0 and 0.2.0 have room for one address of each family; parseIpamConfig has judged what it knew. */
function judgeCount(requests: readonly StaticRequest[], config: IpamConfig, findings: Findings): void {
  if (atLeast(config.cniVersion, "0.3.0")) return;
  for (const family of [4, 6] as const) {
    const loose = requests.filter(({ cidr, range }) => range === undefined && cidr.address.family === family);
    const ranged = config.ranges.filter(({ prefix }) => prefix.family === family).length;
    const last = loose.at(-1);
    if (last === undefined || loose.length + ranged < 2) continue;
    const reason = `a result of CNI ${config.cniVersion} has one IPv${family} address; set cniVersion to 0.3.1 or later`;
    findings.refuse(whoOf(last), `${last.cidr.address}`, reason);
  }
}
