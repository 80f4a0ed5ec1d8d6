// `addresses` of a configuration: addresses that are asked for by number, each with the gateway it is to have.
import type { Address } from "../../net/address.ts";
import { type Cidr, parseCidr } from "../../net/prefix.ts";
import { maxRequested } from "../by-number.ts";
import { type JsonObject, textOf } from "../json.ts";
import { atLeast, type SpecVersion } from "../version.ts";
import type { Findings } from "./findings.ts";
import { optionalAddress } from "./route.ts";

export interface StaticAddress {
  readonly cidr: Cidr;
  readonly gateway?: Address;
}

export function parseStaticAddresses(value: unknown, version: SpecVersion, findings: Findings): StaticAddress[] {
  const list = (value ?? []) as readonly JsonObject[];
  if (list.length > maxRequested) {
    const reason = `one interface has no use for so many addresses; write ${maxRequested} at most`;
    findings.refuse("ipam.addresses", list.length, reason);
    return [];
  }
  const parsed = list.map((object, index) => parseOne(object, `ipam.addresses[${index}]`, findings));
  if (!atLeast(version, "0.3.0")) judgeCount(parsed, version, findings);
  return parsed.flatMap((address) => address ?? []);
}

function parseOne(object: JsonObject, path: string, findings: Findings): StaticAddress | undefined {
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

function judgeCount(parsed: readonly (StaticAddress | undefined)[], version: SpecVersion, findings: Findings): void {
  for (const family of [4, 6] as const) {
    const ofFamily = parsed.flatMap((entry, index) => (entry?.cidr.address.family === family ? [index] : []));
    const second = ofFamily[1];
    if (second === undefined) continue;
    const reason = `a result of CNI ${version} has one IPv${family} address; keep one, or set cniVersion to 0.3.1 or later`;
    findings.refuse(`ipam.addresses[${second}].address`, `${parsed[second]!.cidr.address}`, reason);
  }
}
