// prevResult: the result of an earlier ADD as the runtime hands it back, in any version's form.
import { parseCidr } from "../net/prefix.ts";
import { Findings } from "./config/findings.ts";
import type { NetworkConfig } from "./config/network.ts";
import { type Dns, optionalAddress, parseRoutes, type Route } from "./config/route.ts";
import { CniError, errorCodes } from "./error.ts";
import { isObject, type JsonObject, show, textOf } from "./json.ts";
import type { CniResult, ResultInterface, ResultIp } from "./result.ts";
import { atLeast, parseVersion, type SpecVersion } from "./version.ts";

/**
 * `fallback` is the configuration's version: results before 0.3.0 need not carry one. All mistakes at once, code 7.
 * Later plugins may have added routes with host bits and interfaces of their own: what they wrote is taken as it is.
 */
export function parsePreviousResult(object: JsonObject, fallback: SpecVersion): CniResult {
  const version = object["cniVersion"] === undefined ? fallback : parseVersion(object["cniVersion"]);
  const findings = new Findings(false);
  const result = atLeast(version, "0.3.0") ? parseNew(object, findings) : parseOld(object, findings);
  findings.settle(errorCodes.badConfiguration, "prevResult");
  return result;
}

/** What CHECK cannot do without. Code 7 where the runtime did not send it. */
export function requirePreviousResult({ prevResult, cniVersion, name }: NetworkConfig): CniResult {
  if (prevResult !== undefined) return parsePreviousResult(prevResult, cniVersion);
  const message = `prevResult of the network ${name} is missing: CHECK compares with it; the runtime has to send the result of the ADD.`;
  throw new CniError(errorCodes.badConfiguration, message);
}

function parseNew(object: JsonObject, findings: Findings): CniResult {
  const interfaces = objectsOf(object["interfaces"], "prevResult.interfaces", findings).map(parseInterface);
  const ips = objectsOf(object["ips"], "prevResult.ips", findings).flatMap(
    (ip, index) => parseIp(ip, "address", `prevResult.ips[${index}]`, interfaces.length, findings) ?? [],
  );
  return { interfaces, ips, routes: routesOf(object, "prevResult.routes", findings), dns: dnsOf(object) };
}

function parseOld(object: JsonObject, findings: Findings): CniResult {
  const ips: ResultIp[] = [];
  const routes: Route[] = [];
  for (const family of [4, 6] as const) {
    const part = object[`ip${family}`] ?? undefined;
    if (part === undefined) continue;
    const path = `prevResult.ip${family}`;
    if (!isObject(part)) {
      findings.refuse(path, part, "write an object with ip");
      continue;
    }
    const ip = parseIp(part, "ip", path, 0, findings);
    if (ip !== undefined) ips.push(ip);
    if (ip !== undefined && ip.address.address.family !== family) {
      findings.refuse(`${path}.ip`, `${ip.address.address}`, `write an IPv${family} address`);
    }
    routes.push(...routesOf(part, `${path}.routes`, findings));
  }
  return { interfaces: [], ips, routes, dns: dnsOf(object) };
}

function parseIp(
  object: JsonObject,
  key: "address" | "ip",
  path: string,
  interfaces: number,
  findings: Findings,
): ResultIp | undefined {
  const text = object[key];
  const address = findings.attempt(`${path}.${key}`, text, () => parseCidr(textOf(text), { unmap: true }));
  const gateway = optionalAddress(object["gateway"], `${path}.gateway`, findings);
  const index = object["interface"];
  const known = typeof index === "number" && Number.isInteger(index) && index >= 0 && index < interfaces;
  if (index !== undefined && index !== null && !known) {
    findings.refuse(`${path}.interface`, index, `write the index of one of the ${interfaces} interfaces`);
  }
  if (address === undefined) return undefined;
  return { address, ...(gateway && { gateway }), ...(known && { interface: index }) };
}

function routesOf(object: JsonObject, path: string, findings: Findings): Route[] {
  return parseRoutes(objectsOf(object["routes"], path, findings), path, findings);
}

function parseInterface(object: JsonObject): ResultInterface {
  const keys = ["mac", "sandbox", "socketPath", "pciID"];
  const texts = keys.flatMap((key) => (textOf(object[key]) === "" ? [] : [[key, object[key]]]));
  const mtu = object["mtu"];
  return {
    name: textOf(object["name"]),
    ...Object.fromEntries(texts),
    ...(typeof mtu === "number" && { mtu }),
  };
}

function objectsOf(value: unknown, path: string, findings: Findings): readonly JsonObject[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every(isObject)) return value;
  findings.refuse(path, show(value), "write a list of objects");
  return [];
}

function dnsOf(object: JsonObject): Dns {
  return isObject(object["dns"]) ? object["dns"] : {};
}
