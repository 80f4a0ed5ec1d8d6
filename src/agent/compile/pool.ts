// From a managed pool, as the API server has it, to what the DHCP server serves. Pure.
//
// Promised: a pool without a usable subnet, server address or lease time is not served, and says why; any other mistake
// costs only the option or the reservation that it is in. The same object gives the same answer in every agent.
import { parseObject } from "../../api/kind.ts";
import { type ManagedPool, managedPoolKind } from "../../api/vmnet/managed-pool.ts";
import type { StoredManagedPool } from "../../cluster/resources.ts";
import { DhcpError } from "../../dhcp/error.ts";
import type { Route } from "../../dhcp/options/value.ts";
import type { BindingDefinition } from "../../dhcp/server/binding.ts";
import { compileBinding } from "../../dhcp/server/binding.ts";
import type { CustomOption } from "../../dhcp/server/parameters.ts";
import { compilePool, type PoolDefinition } from "../../dhcp/server/pool.ts";
import { asError } from "../../kube/abort.ts";
import { type DeepReadonly, keyOf } from "../../kube/meta.ts";
import type { V4Address } from "../../net/address.ts";
import { CodedError } from "../../net/coded-error.ts";
import { parseMac } from "../../net/mac.ts";
import { contains, parseCidr } from "../../net/prefix.ts";
import { hostNameOf } from "./host-name.ts";
import { optionValueOf } from "./option-text.ts";
import { v4Of } from "./v4.ts";

export interface CompiledPool {
  /** Undefined: nothing of it is served. */
  readonly definition: PoolDefinition | undefined;
  /** Reservations with a MAC. */
  readonly reservations: readonly BindingDefinition[];
  /** Whole sentences, one for each thing that is left out. */
  readonly findings: readonly string[];
}

/** Seconds. */
const leaseTimeDefault = 86_400;
const leaseTimeMin = 8;

/** Addresses of host names, as far as they are known: nobody waits for a name. */
export type NamesKnown = (name: string) => readonly V4Address[];

const noNames: NamesKnown = () => [];

export function compileManagedPool(object: DeepReadonly<StoredManagedPool>, names = noNames): CompiledPool {
  const findings: string[] = [];
  try {
    const pool = parseObject(managedPoolKind, object);
    const isStopped = pool.spec.paused === true;
    const definition = withoutFaults(...definitionOf(pool, names, findings), findings);
    return { definition: isStopped ? undefined : definition, reservations: reservationsOf(pool, findings), findings };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { definition: undefined, reservations: [], findings: [...findings, error.message] };
  }
}

type Required = Pick<PoolDefinition, "name" | "subnet" | "serverIdentifier" | "leaseSeconds">;
type Optional = Omit<PoolDefinition, keyof Required>;

function definitionOf(pool: ManagedPool, names: NamesKnown, findings: string[]): [Required, Optional] {
  const { ipv4Config: config } = pool.spec;
  const { serverIP, cidr, leaseTime = leaseTimeDefault } = config;
  const subnet = parseCidr(cidr).prefix;
  if (serverIP === undefined || serverIP === "") {
    throw new DhcpError("bad-pool", "It has no spec.ipv4Config.serverIP, which clients renew at: give it one.");
  }
  const serverIdentifier = v4Of(serverIP);
  if (!contains(subnet, serverIdentifier)) {
    throw new DhcpError("bad-pool", `Its serverIP ${serverIdentifier} is not of its subnet ${subnet}: give another.`);
  }
  const isLease = leaseTime >= leaseTimeMin && leaseTime <= 0xffff_ffff;
  if (!isLease) {
    findings.push(`Its leaseTime ${leaseTime} cannot be given, ${leaseTimeDefault} is: write ${leaseTimeMin} or more.`);
  }
  const leaseSeconds = isLease ? leaseTime : leaseTimeDefault;
  const required = { name: keyOf(pool), subnet, serverIdentifier, leaseSeconds };
  const addresses = (field: string, texts: readonly string[] | undefined) =>
    each(
      texts,
      (text) => v4Of(text),
      (error) => findings.push(`Its ${field} is left out in part: ${error.message}`),
    );
  const one = (field: string, text: string | undefined) =>
    addresses(field, text === undefined || text === "" ? [] : [text]);
  const [nextServer] = one("nextServer", config.nextServer);
  const optional: Optional = {
    routers: one("router", config.router),
    dnsServers: addresses("dns", config.dns),
    ntpServers: ntpServersOf(config.ntp, names, findings),
    domainSearch: config.domainSearch?.filter((name) => name !== "") ?? [],
    routes: each(config.routes, routeOf, (error) => findings.push(`A route is left out: ${error.message}`)),
    custom: customOf(config.options, findings),
    ...said("domainName", config.domainName),
    ...said("tftpServerName", config.tftpServerName),
    ...said("bootFileName", config.bootFileName),
    ...(config.mtu !== undefined && { mtu: config.mtu }),
    ...(nextServer !== undefined && { nextServer }),
  };
  return [required, optional];
}

/** An empty text is none. */
function said<Key extends string>(key: Key, text: string | undefined): { readonly [K in Key]?: string } {
  return text === undefined || text === "" ? {} : ({ [key]: text } as { [K in Key]: string });
}

/** Names that nobody has looked up yet are left out: the option is complete with the next change after it is known. */
function ntpServersOf(texts: readonly string[] | undefined, names: NamesKnown, findings: string[]): V4Address[] {
  return (texts ?? []).flatMap((text) => {
    if (/^[\d.]+$/.test(text) || text.includes(":")) {
      return each([text], v4Of, (error) => findings.push(`Its ntp is left out in part: ${error.message}`));
    }
    const found = names(text);
    if (found.length === 0) {
      findings.push(`Its NTP server ${JSON.stringify(text)} has no known address: option 42 has addresses alone.`);
    }
    return [...found];
  });
}

function routeOf({ destination, gateway }: { readonly destination: string; readonly gateway: string }): Route {
  return { destination: parseCidr(destination).prefix, router: v4Of(gateway) };
}

function customOf(options: ManagedPool["spec"]["ipv4Config"]["options"], findings: string[]): CustomOption[] {
  return (options ?? []).flatMap(({ code, type, value: text }) => {
    const value = optionValueOf(code, type, text);
    if (typeof value === "string") findings.push(value);
    return typeof value === "string" ? [] : [{ code, value }];
  });
}

/** What the server refuses is left out, one by one, so that the rest is served. */
function withoutFaults(required: Required, optional: Optional, findings: string[]): PoolDefinition {
  const whole = { ...required, ...optional };
  if (refusalOf(whole) === undefined) return whole;
  let made: PoolDefinition = required;
  const refusal = refusalOf(made);
  if (refusal !== undefined) throw refusal;
  const { custom = [], ...fields } = optional;
  const parts: Optional[] = Object.entries(fields).map(([field, value]) => ({ [field]: value }));
  for (const part of [...parts, ...custom.map((option) => ({ custom: [option] }))]) {
    const next: PoolDefinition = { ...made, ...part, custom: [...(made.custom ?? []), ...(part.custom ?? [])] };
    const error = refusalOf(next);
    if (error === undefined) made = next;
    else findings.push(error.message);
  }
  return made;
}

function refusalOf(definition: PoolDefinition): DhcpError | undefined {
  try {
    compilePool(definition);
    return undefined;
  } catch (error) {
    if (error instanceof DhcpError) return error;
    throw error;
  }
}

function reservationsOf(pool: ManagedPool, findings: string[]): BindingDefinition[] {
  const { reservations } = pool.spec.ipv4Config;
  return each(
    reservations?.filter(({ macAddress = "" }) => macAddress !== ""),
    ({ ipAddress, macAddress = "", hostname }) => {
      const hostName = hostNameOf(hostname);
      const definition = {
        address: v4Of(ipAddress),
        pool: keyOf(pool),
        mac: parseMac(macAddress),
        ...(hostName !== undefined && { hostName }),
      };
      compileBinding(definition);
      return definition;
    },
    (error) => findings.push(`A reservation is left out: ${error.message}`),
  );
}

/** Those that can be made; `left` is told of the others. */
function each<From, To>(
  from: readonly From[] | undefined,
  make: (each: From) => To,
  left: (error: Error) => void,
): To[] {
  return (from ?? []).flatMap((item) => {
    try {
      return [make(item)];
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      left(asError(error));
      return [];
    }
  });
}
