// A pool as the server serves it: checked once, with every option as bytes already. It gives no addresses; bindings do.
import { type Address, V4Address } from "../../net/address.ts";
import { Prefix } from "../../net/prefix.ts";
import { DhcpError } from "../error.ts";
import { datagramBytesMax } from "../message/encode.ts";
import { fileBytes, snameBytes } from "../message/header.ts";
import type { RawOption } from "../message/placement.ts";
import { asciiBytes, uintBytes } from "../options/bytes.ts";
import { code } from "../options/codes.ts";
import type { Route } from "../options/value.ts";
import { infiniteSeconds, leaseOptions } from "./lease-times.ts";
import { type CustomOption, Parameters } from "./parameters.ts";

/** What is not set is not sent. */
export interface PoolDefinition {
  /** For messages and effects: `namespace/name`. */
  readonly name: string;
  readonly subnet: Prefix;
  /** The same for all servers of the pool, so that each can answer for the others. Clients renew by unicast to it. */
  readonly serverIdentifier: V4Address;
  /** 8 to 2^32 - 1; the last means for ever. */
  readonly leaseSeconds: number;
  readonly routers?: readonly V4Address[];
  readonly dnsServers?: readonly V4Address[];
  readonly domainName?: string;
  readonly domainSearch?: readonly string[];
  readonly ntpServers?: readonly V4Address[];
  /** Clients that know option 121 ignore routers (RFC 3442): the default route is added here if it is missing. */
  readonly routes?: readonly Route[];
  readonly mtu?: number;
  /** Option 43. */
  readonly vendorInformation?: Uint8Array;
  /** `siaddr`: where a client that boots from the network goes on. */
  readonly nextServer?: V4Address;
  readonly tftpServerName?: string;
  readonly bootFileName?: string;
  /** Option 150. */
  readonly tftpServers?: readonly V4Address[];
  readonly custom?: readonly CustomOption[];
  /** How long a declined address is not offered. Default: ten minutes. */
  readonly quarantineSeconds?: number;
}

export interface Pool {
  readonly name: string;
  readonly serverIdentifier: number;
  readonly leaseSeconds: number;
  readonly quarantineMs: number;
  readonly network: number;
  readonly mask: number;
  readonly nextServer: number;
  readonly file: Uint8Array | undefined;
  readonly sname: Uint8Array | undefined;
  /** A larger reply would not pass the link. */
  readonly datagramBytesMax: number;
  /** Option 54. */
  readonly identity: RawOption;
  /** Options 51, 58, 59 and 1: in every OFFER, and every ACK of a lease. */
  readonly lease: readonly RawOption[];
  /** Option 1. */
  readonly subnetMask: RawOption;
  readonly parameters: Parameters;
}

const everywhere = Prefix.around(new V4Address(0), 0);
const quarantineSecondsDefault = 600;
/** T1 and T2 of a shorter lease would be the same second, and its clients would do nothing but renew. */
const leaseSecondsMin = 8;
/** What every IPv4 link must carry (RFC 2132 section 5.1). */
const mtuMin = 68;

export function compilePool(definition: PoolDefinition): Pool {
  const { name, subnet, serverIdentifier, leaseSeconds } = definition;
  const network = v4(subnet.network, definition);
  if (!Number.isInteger(leaseSeconds) || leaseSeconds < leaseSecondsMin || leaseSeconds > infiniteSeconds) {
    throw bad(
      definition,
      `a lease of ${leaseSeconds} s cannot be given: write ${leaseSecondsMin} to ${infiniteSeconds}`,
    );
  }
  if (definition.mtu !== undefined && (definition.mtu < mtuMin || definition.mtu > 0xffff)) {
    throw bad(definition, `an MTU of ${definition.mtu} cannot be given: write ${mtuMin} to 65535`);
  }
  const { quarantineSeconds = quarantineSecondsDefault } = definition;
  if (!(quarantineSeconds >= 0))
    throw bad(definition, `a quarantine of ${quarantineSeconds} s has no end: write 0 or more`);
  const mask = subnet.length === 0 ? 0 : (0xffff_ffff << (32 - subnet.length)) >>> 0;
  const subnetMask = { code: code.subnetMask, data: uintBytes(mask, 4) };
  return {
    name,
    serverIdentifier: serverIdentifier.value,
    leaseSeconds,
    quarantineMs: 1000 * quarantineSeconds,
    network,
    mask,
    nextServer: definition.nextServer?.value ?? 0,
    file: fieldText(definition.bootFileName, fileBytes),
    sname: fieldText(definition.tftpServerName, snameBytes),
    datagramBytesMax: definition.mtu ?? datagramBytesMax,
    identity: { code: code.serverIdentifier, data: uintBytes(serverIdentifier.value, 4) },
    lease: [...leaseOptions(leaseSeconds), subnetMask],
    subnetMask,
    parameters: parametersOf(definition),
  };
}

export function isInSubnet({ network, mask }: Pool, address: number): boolean {
  return (address & mask) >>> 0 === network;
}

/** A binding may name any pool and any address; a client never gets one of another subnet, nor the server's own. */
export function canServe(pool: Pool, address: number): boolean {
  return isInSubnet(pool, address) && address !== pool.serverIdentifier;
}

/** The order is that of a reply to a client that asks for nothing in particular. */
function parametersOf(definition: PoolDefinition): Parameters {
  const { subnet, routers, dnsServers, domainName, domainSearch, ntpServers, mtu, vendorInformation } = definition;
  const { tftpServerName, bootFileName, tftpServers, custom } = definition;
  const parameters = new Parameters(`Pool ${definition.name}`, "bad-pool");
  const texts = (value: string | undefined) => (value === undefined ? undefined : ({ kind: "text", value } as const));
  const addresses = (value: readonly V4Address[] = []) => ({ kind: "addresses", value }) as const;
  parameters.set(code.routers, addresses(routers));
  parameters.set(code.dnsServers, addresses(dnsServers));
  parameters.set(code.domainName, texts(domainName));
  parameters.set(code.domainSearch, { kind: "domains", value: domainSearch ?? [] });
  parameters.set(code.classlessRoutes, { kind: "routes", value: routesOf(definition) });
  // A link of two addresses has no broadcast address (RFC 3021).
  if (subnet.length <= 30) parameters.set(code.broadcastAddress, { kind: "address", value: subnet.last as V4Address });
  parameters.set(code.mtu, mtu === undefined ? undefined : { kind: "uint16", value: mtu });
  parameters.set(code.ntpServers, addresses(ntpServers));
  // A name that its field has no room for is sent to everybody as an option.
  parameters.set(code.tftpServerName, texts(tftpServerName), fieldText(tftpServerName, snameBytes) === undefined);
  parameters.set(code.bootFileName, texts(bootFileName), fieldText(bootFileName, fileBytes) === undefined);
  parameters.set(code.tftpServers, addresses(tftpServers));
  const vendor = vendorInformation === undefined ? undefined : ({ kind: "bytes", value: vendorInformation } as const);
  parameters.set(code.vendorInformation, vendor);
  parameters.setCustom(custom);
  if (parameters.get(code.subnetMask)) throw bad(definition, "option 1 is made from the subnet: leave it out");
  return parameters;
}

function routesOf(definition: PoolDefinition): readonly Route[] {
  const { routes = [], routers: [router] = [] } = definition;
  for (const { destination } of routes) v4(destination.network, definition);
  const lacksDefault = routes.length > 0 && !routes.some(({ destination }) => destination.length === 0);
  return lacksDefault && router !== undefined ? [...routes, { destination: everywhere, router }] : routes;
}

/** Undefined where there is none, or the field has no room for it and its NUL. */
function fieldText(text: string | undefined, fieldBytes: number): Uint8Array | undefined {
  return text === undefined || text.length >= fieldBytes ? undefined : asciiBytes(text);
}

function v4(address: Address, definition: PoolDefinition): number {
  if (address.family === 4) return address.value;
  throw bad(definition, `${address} is IPv6: a DHCPv4 pool has IPv4 addresses alone`);
}

function bad({ name }: PoolDefinition, what: string): DhcpError {
  return new DhcpError("bad-pool", `Pool ${name}: ${what}.`);
}
