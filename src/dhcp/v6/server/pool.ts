// A pool as the server serves it: checked once, with every option and advertisement as bytes already. It gives no
// addresses; bindings do.
import type { V6Address } from "../../../net/address.ts";
import { contains, type Prefix } from "../../../net/prefix.ts";
import { DhcpError } from "../../error.ts";
import { uintBytes } from "../../options/bytes.ts";
import { infiniteSeconds } from "../../server/lease-times.ts";
import {
  addressBytes,
  bytesOfAddress,
  concatenate,
  isLinkLocal,
  isMulticast,
  isSame,
  isUnspecified,
} from "../bytes.ts";
import { datagramHeadersBytes, mtuMax, mtuMin } from "../frame/frame.ts";
import { type RouterAdvertisement, routerAdvertisement } from "../neighbor/router-advertisement.ts";
import { codeV6 } from "../options/codes.ts";
import { encodeDomainNames } from "../options/domain-names.ts";
import { identityBytes, serverDuid } from "../options/duid.ts";
import type { RawOptionV6 } from "../options/option.ts";
import type { BindingV6 } from "./binding.ts";
import { type CustomOptionV6, ParametersV6 } from "./parameters.ts";

/** What is not set is not sent. */
export interface PoolDefinitionV6 {
  /** For messages and effects: `namespace/name`. The server's DUID is made from it and the subnet. */
  readonly name: string;
  readonly subnet: Prefix;
  /** An address that the server answers for and no client gets. Default: `linkLocal`. */
  readonly serverAddress?: V6Address;
  /** The source of all replies, and of advertisements without a router. Default: made as the DUID is. */
  readonly linkLocal?: V6Address;
  /** 8 to 2^32 - 1; the last means for ever. Preferred and valid lifetime. */
  readonly leaseSeconds: number;
  readonly dnsServers?: readonly V6Address[];
  readonly domainSearch?: readonly string[];
  readonly mtu?: number;
  readonly custom?: readonly CustomOptionV6[];
  /** 0 to 255. Default: 255, by which a client that has an address here waits for no other server. */
  readonly preference?: number;
  /** Whether a SOLICIT that asks for it gets its lease at once. Default: yes, since bindings are made before. */
  readonly rapidCommit?: boolean;
  /** How long a client waits between two attempts at most (SOL_MAX_RT, INF_MAX_RT). Default: 60, the least there is. */
  readonly retrySecondsMax?: number;
  /** How long a declined address is not offered. Default: ten minutes. */
  readonly quarantineSeconds?: number;
  /** The link-local address of the router, in whose name the default route is advertised. Default: no router. */
  readonly router?: V6Address;
  /** Whether there are router advertisements. Default: yes. */
  readonly advertise?: boolean;
}

export interface PoolV6 {
  readonly name: string;
  readonly subnet: Prefix;
  readonly serverAddress: Uint8Array;
  /** The source of replies: clients of every system take a link-local one, and only such a one may advertise. */
  readonly linkLocal: Uint8Array;
  /** Option 2. */
  readonly identity: RawOptionV6;
  /** Option 7; undefined for 0. */
  readonly preference: RawOptionV6 | undefined;
  readonly rapidCommit: boolean;
  readonly leaseSeconds: number;
  /** T1 and T2: half of the lease, and four fifths (RFC 8415 section 21.4). */
  readonly times: Uint8Array;
  /** Preferred and valid. */
  readonly lifetimes: Uint8Array;
  readonly quarantineMs: number;
  /** A larger message would not pass the link. */
  readonly messageBytes: number;
  readonly parameters: ParametersV6;
  /** Undefined where none are sent. */
  readonly advertisement: RouterAdvertisement | undefined;
}

const quarantineSecondsDefault = 600;
/** T1 and T2 of a shorter lease would be nearly the same second. */
const leaseSecondsMin = 8;
/** RFC 8415 sections 21.24 and 21.25. */
const retrySeconds = { least: 60, most: 86_400 } as const;
/** The least that a client takes as information refresh time (section 21.23, IRT_MINIMUM). */
const refreshSecondsMin = 600;
const preferenceDefault = 255;

export function compilePoolV6(definition: PoolDefinitionV6): PoolV6 {
  check(definition);
  const { name, subnet, leaseSeconds, rapidCommit = true, quarantineSeconds = quarantineSecondsDefault } = definition;
  const { preference = preferenceDefault, advertise = true, mtu } = definition;
  const own = definition.linkLocal && bytesOfAddress(definition.linkLocal);
  const configured = definition.serverAddress && bytesOfAddress(definition.serverAddress);
  const isLocal = configured !== undefined && isLinkLocal(configured);
  const linkLocal = own ?? (isLocal ? configured : defaultLinkLocal(name, String(subnet)));
  const serverAddress = configured ?? linkLocal;
  const part = (share: number) =>
    leaseSeconds === infiniteSeconds ? infiniteSeconds : Math.floor(leaseSeconds * share);
  const lease = uintBytes(leaseSeconds, 4);
  const parameters = parametersOf(definition);
  return {
    name,
    subnet,
    serverAddress,
    linkLocal,
    identity: { code: codeV6.serverIdentifier, data: serverDuid(name, String(subnet)) },
    preference: preference === 0 ? undefined : { code: codeV6.preference, data: uintBytes(preference, 1) },
    rapidCommit,
    leaseSeconds,
    times: concatenate([uintBytes(part(0.5), 4), uintBytes(part(0.8), 4)]),
    lifetimes: concatenate([lease, lease]),
    quarantineMs: 1000 * quarantineSeconds,
    messageBytes: Math.min(mtu ?? mtuMax, mtuMax) - datagramHeadersBytes,
    parameters,
    advertisement: advertise ? advertisementOf(definition, linkLocal, parameters) : undefined,
  };
}

/** A binding may name any pool and any address; a client never gets one of another subnet, nor the server's own. */
export function canServeV6(pool: PoolV6, { address, bytes }: BindingV6): boolean {
  return contains(pool.subnet, address) && !isSame(bytes, pool.serverAddress);
}

function advertisementOf(definition: PoolDefinitionV6, linkLocal: Uint8Array, parameters: ParametersV6) {
  const { subnet, router, mtu } = definition;
  return routerAdvertisement({
    source: router === undefined ? linkLocal : bytesOfAddress(router),
    isRouter: router !== undefined,
    subnet,
    mtu,
    dnsServers: parameters.get(codeV6.dnsServers)?.data,
    domainSearch: parameters.get(codeV6.domainSearch)?.data,
  });
}

function parametersOf(definition: PoolDefinitionV6): ParametersV6 {
  const { name, dnsServers = [], domainSearch = [], leaseSeconds, retrySecondsMax = retrySeconds.least } = definition;
  const names = encodeDomainNames(domainSearch);
  if (names === undefined) {
    throw bad(definition, "a search domain is no domain name: write labels of 1 to 63 printable characters");
  }
  const parameters = new ParametersV6(name);
  parameters.set(codeV6.dnsServers, concatenate(dnsServers.map(bytesOfAddress)));
  parameters.set(codeV6.domainSearch, names);
  parameters.set(codeV6.solicitTimeMax, uintBytes(retrySecondsMax, 4));
  parameters.set(codeV6.informationTimeMax, uintBytes(retrySecondsMax, 4));
  parameters.set(codeV6.informationRefreshTime, uintBytes(Math.max(leaseSeconds, refreshSecondsMin), 4));
  parameters.setCustom(definition.custom);
  return parameters;
}

function check(definition: PoolDefinitionV6): void {
  const { subnet, serverAddress, linkLocal, router, leaseSeconds, mtu, preference = 0 } = definition;
  const { quarantineSeconds = 0, retrySecondsMax = retrySeconds.least } = definition;
  if (subnet.family !== 6) throw bad(definition, `${subnet} is IPv4: a DHCPv6 pool has IPv6 addresses alone`);
  if (!isWhole(leaseSeconds, leaseSecondsMin, infiniteSeconds)) {
    const range = `${leaseSecondsMin} to ${infiniteSeconds}`;
    throw bad(definition, `a lease of ${leaseSeconds} s cannot be given: write ${range}`);
  }
  if (mtu !== undefined && !isWhole(mtu, mtuMin, 0xffff)) {
    throw bad(definition, `an MTU of ${mtu} cannot be given: write ${mtuMin} to 65535`);
  }
  if (!isWhole(preference, 0, 255)) throw bad(definition, `a preference of ${preference} is none: write 0 to 255`);
  if (!isWhole(retrySecondsMax, retrySeconds.least, retrySeconds.most)) {
    const range = `${retrySeconds.least} to ${retrySeconds.most}`;
    throw bad(definition, `clients cannot be made to wait ${retrySecondsMax} s at most: write ${range}`);
  }
  if (!(quarantineSeconds >= 0)) {
    throw bad(definition, `a quarantine of ${quarantineSeconds} s has no end: write 0 or more`);
  }
  if (serverAddress !== undefined && !isHostAddress(bytesOfAddress(serverAddress))) {
    throw bad(definition, `${serverAddress} cannot be the server's address: write a link-local one`);
  }
  if (linkLocal !== undefined && !isLinkLocal(bytesOfAddress(linkLocal))) {
    throw bad(definition, `${linkLocal} is not link-local: write one (fe80::...)`);
  }
  if (router !== undefined && !isLinkLocal(bytesOfAddress(router))) {
    throw bad(definition, `${router} cannot be advertised as a router: write its link-local address (fe80::...)`);
  }
}

/** fe80:: and 64 bits of the pool's own, not marked as made from a MAC (RFC 4291 section 2.5.1: the bit is zero). */
function defaultLinkLocal(name: string, subnet: string): Uint8Array {
  const address = new Uint8Array(addressBytes);
  address.set([0xfe, 0x80]);
  address.set(identityBytes("server address", name, subnet).subarray(0, 8), 8);
  address[8]! &= ~0x02;
  return address;
}

function isHostAddress(address: Uint8Array): boolean {
  return !isUnspecified(address) && !isMulticast(address);
}

function isWhole(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function bad({ name }: PoolDefinitionV6, what: string): DhcpError {
  return new DhcpError("bad-pool", `Pool ${name}: ${what}.`);
}
