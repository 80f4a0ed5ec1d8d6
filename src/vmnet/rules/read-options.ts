// What a pool tells its guests: DNS, NTP, domains, routes, boot files, and options by code. Pure. An entry that cannot
// be sent is left out with a word, and the others are sent: a guest without one DNS server is better off than one
// without an address.
import { DhcpError } from "../../dhcp/error.ts";
import { optionEntry } from "../../dhcp/options/catalog.ts";
import { code } from "../../dhcp/options/codes.ts";
import { encodeOption } from "../../dhcp/options/convert.ts";
import type { OptionValue, Route } from "../../dhcp/options/value.ts";
import type { CustomOption } from "../../dhcp/server/parameters.ts";
import { compilePool, type PoolDefinition } from "../../dhcp/server/pool.ts";
import { checkPoolV6, type PoolDefinitionV6 } from "../../dhcp/v6/server/pool-definition.ts";
import type { V4Address } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import { contains, parseCidr, type Prefix } from "../../net/prefix.ts";
import { addressOf, type AddressOf, type Fields, fieldsOf, listOf, parsed, show, textOf } from "./fields.ts";
import type { Issues } from "./issue.ts";
import { optionValueOf } from "./option-value.ts";
import type { Source } from "./read-subnet.ts";

export const leaseSecondsDefault = 86_400;
/** T1 and T2 of a shorter one would be the same second. */
const leaseSecondsMin = 8;
/** A year: Harvester's default. An address rests for a lease after its release, so nothing longer ends. */
const leaseSecondsMax = 31_536_000;

export function readLeaseSeconds<F extends 4 | 6>(
  { config, path, issues }: Source<F>,
  fallback = leaseSecondsDefault,
): number {
  const value = config["leaseTime"];
  if (value === undefined || value === null) return fallback;
  const isSeconds = typeof value === "number" && Number.isInteger(value);
  if (isSeconds && value >= leaseSecondsMin && value <= leaseSecondsMax) return value;
  const taken = !isSeconds || value <= 0 ? fallback : Math.min(Math.max(value, leaseSecondsMin), leaseSecondsMax);
  const message = `${show(value)} is no lease time, and ${taken} is taken; write ${leaseSecondsMin} to ${leaseSecondsMax} seconds.`;
  issues.tolerate("bad-lease-time", `${path}.leaseTime`, message);
  return taken;
}

/** Those that can be read. */
export function readAddresses<F extends 4 | 6>(
  { family, config, path, issues }: Source<F>,
  key: string,
): readonly AddressOf<F>[] {
  return listOf(config[key], `${path}.${key}`, issues).flatMap((entry, index) => {
    const field = `${path}.${key}[${index}]`;
    const omit = (why: string) => issues.tolerate("bad-address", field, `${why} Until then it is left out.`);
    if (typeof entry !== "string" || entry === "") {
      omit(`${show(entry)} is no address; write an IPv${family} address.`);
      return [];
    }
    const address = addressOf(entry, family, omit);
    return address === undefined ? [] : [address];
  });
}

export function readDomains<F extends 4 | 6>({ config, path, issues }: Source<F>): readonly string[] {
  const key = "domainSearch";
  return listOf(config[key], `${path}.${key}`, issues).flatMap((entry, index) => {
    const field = `${path}.${key}[${index}]`;
    if (typeof entry === "string" && canSend(code.domainSearch, { kind: "domains", value: [entry] })) return [entry];
    const message = `${show(entry)} is no domain, and left out; write labels of 1 to 63 characters with dots between.`;
    issues.tolerate("bad-option", field, message);
    return [];
  });
}

/** Everything that guests are told beside address, mask, server and router. */
export function readDhcpOptions(source: Source<4>, prefix: Prefix): Partial<PoolDefinition> {
  const { config, path, issues } = source;
  const text = (key: string, optionCode: number) => {
    const value = textOf(config[key], `${path}.${key}`, issues);
    if (value === undefined || canSend(optionCode, { kind: "text", value })) return value;
    const message = `${show(value)} cannot be sent, and is left out; write printable ASCII.`;
    issues.tolerate("bad-option", `${path}.${key}`, message);
    return undefined;
  };
  const found = {
    dnsServers: readAddresses(source, "dns"),
    ntpServers: readAddresses(source, "ntp"),
    domainName: text("domainName", code.domainName),
    domainSearch: readDomains(source),
    mtu: readMtu(source),
    routes: readRoutes(source, prefix),
    nextServer: nextServerOf(source),
    tftpServerName: text("tftpServerName", code.tftpServerName),
    bootFileName: text("bootFileName", code.bootFileName),
    custom: readCustomOptions(source),
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => isSet(value)));
}

function isSet(value: unknown): boolean {
  return value !== undefined && !(Array.isArray(value) && value.length === 0);
}

const mtuMin = 68;
const mtuMax = 65_535;

function readMtu({ config, path, issues }: Source<4>): number | undefined {
  const value = config["mtu"];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= mtuMin && value <= mtuMax) return value;
  const message = `${show(value)} is no MTU, and left out; write ${mtuMin} to ${mtuMax}.`;
  issues.tolerate("bad-option", `${path}.mtu`, message);
  return undefined;
}

function nextServerOf({ config, path, issues }: Source<4>): V4Address | undefined {
  const field = `${path}.nextServer`;
  const text = textOf(config["nextServer"], field, issues);
  if (text === undefined) return undefined;
  return addressOf(text, 4, (why) => issues.tolerate("bad-address", field, `${why} Until then it is left out.`));
}

function readRoutes(source: Source<4>, prefix: Prefix): readonly Route[] {
  const { config, issues } = source;
  const path = `${source.path}.routes`;
  return listOf(config["routes"], path, issues).flatMap((entry, index): Route[] => {
    const at = `${path}[${index}]`;
    const fields = fieldsOf(entry, at, issues);
    const omit = (field: string) => (why: string) =>
      issues.tolerate("bad-option", `${at}.${field}`, `${why} Until then the route is left out.`);
    const destination = parsed(() => parseCidr(textIn(fields, "destination")).prefix);
    if ("why" in destination) omit("destination")(destination.why);
    const router = addressOf(textIn(fields, "gateway"), 4, omit("gateway"));
    if ("why" in destination || router === undefined) return [];
    if (destination.value.family !== 4) {
      omit("destination")(`${destination.value} is IPv6; write an IPv4 destination.`);
      return [];
    }
    // 0.0.0.0: the destination is on the link (RFC 3442).
    if (router.value !== 0 && !contains(prefix, router)) {
      const message = `${router} is outside ${prefix}: guests reach it only if something else tells them how.`;
      issues.advise("outside-subnet", `${at}.gateway`, message);
    }
    return [{ destination: destination.value, router }];
  });
}

function textIn(fields: Fields, key: string): string {
  const value = fields[key];
  return typeof value === "string" ? value : "";
}

function readCustomOptions(source: Source<4>): readonly CustomOption[] {
  const { config, issues } = source;
  const path = `${source.path}.options`;
  const seen = new Set<number>();
  return listOf(config["options"], path, issues).flatMap((entry, index): CustomOption[] => {
    const at = `${path}[${index}]`;
    const { code: optionCode, type, value } = fieldsOf(entry, at, issues);
    const omit = (why: string) => {
      issues.tolerate("bad-option", at, `${why} Until then it is left out.`);
      return [];
    };
    if (typeof optionCode !== "number" || !Number.isInteger(optionCode) || optionCode < 1 || optionCode > 254) {
      return omit(`${show(optionCode)} is no code of an option; write 1 to 254.`);
    }
    if (seen.has(optionCode)) return omit(`option ${optionCode} is given twice; leave one out.`);
    seen.add(optionCode);
    const kind = typeof type === "string" && type !== "" ? type : optionEntry(optionCode).kind;
    const read = optionValueOf(kind, typeof value === "string" ? value : "");
    if ("why" in read) return omit(`option ${optionCode}: ${read.why}`);
    const why = whyNotSent(optionCode, read.value);
    return why === undefined ? [{ code: optionCode, value: read.value }] : omit(why);
  });
}

function canSend(optionCode: number, value: OptionValue): boolean {
  return whyNotSent(optionCode, value) === undefined;
}

function whyNotSent(optionCode: number, value: OptionValue): string | undefined {
  return whyNot(() => encodeOption(optionCode, value));
}

/** What the server refuses although each part can be read is left out, part by part, so that the rest is served. */
export function servableDhcp(definition: PoolDefinition, field: string, issues: Issues): PoolDefinition {
  if (whyNotServed(definition) === undefined) return definition;
  const { name, subnet, serverIdentifier, leaseSeconds, custom = [], ...fields } = definition;
  let made: PoolDefinition = { name, subnet, serverIdentifier, leaseSeconds };
  const parts: readonly Partial<PoolDefinition>[] = [
    ...Object.entries(fields).map(([key, value]) => ({ [key]: value })),
    ...custom.map((option) => ({ custom: [option] })),
  ];
  for (const part of parts) {
    const more = part.custom && { custom: [...(made.custom ?? []), ...part.custom] };
    const next = { ...made, ...part, ...more };
    const why = whyNotServed(next);
    if (why === undefined) made = next;
    else issues.tolerate("bad-option", field, `${why} Until then it is left out.`);
  }
  return made;
}

/** The lists are all that can be too long; undefined: not even the rest can be served. */
export function servableDhcpV6(
  definition: PoolDefinitionV6,
  field: string,
  issues: Issues,
): PoolDefinitionV6 | undefined {
  const { dnsServers, domainSearch, ...rest } = definition;
  const tries = [definition, { ...rest, dnsServers: dnsServers ?? [] }, { ...rest, domainSearch: domainSearch ?? [] }];
  for (const each of [...tries, rest]) {
    const why = whyNot(() => checkPoolV6(each));
    if (why === undefined) return each;
    issues.tolerate("bad-option", field, `${why} Until then it is left out.`);
  }
  return undefined;
}

function whyNotServed(definition: PoolDefinition): string | undefined {
  return whyNot(() => compilePool(definition));
}

function whyNot(make: () => unknown): string | undefined {
  return attempt(
    DhcpError,
    () => void make(),
    (error) => error.message,
  );
}
