// A pool of DHCPv6 as it is asked for, and whether it can be served: all of compilePoolV6 (pool.ts) that can fail, and
// nothing of Node, so that whoever shows or checks a pool may use it, in a browser too.
import { type V6Address, addressToBytes } from "../../../net/address.ts";
import type { Prefix } from "../../../net/prefix.ts";
import { DhcpError } from "../../error.ts";
import { uintBytes } from "../../options/bytes.ts";
import { infiniteSeconds } from "../../server/lease-times.ts";
import { concatenate, isLinkLocal, isMulticast, isUnspecified } from "../bytes.ts";
import { mtuMin } from "../frame/frame.ts";
import { type RouterAdvertisement, routerAdvertisement } from "../neighbor/router-advertisement.ts";
import { codeV6 } from "../options/codes.ts";
import { encodeDomainNames } from "../options/domain-names.ts";
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

/** T1 and T2 of a shorter lease would be nearly the same second. */
const leaseSecondsMin = 8;
/** RFC 8415 sections 21.24 and 21.25. */
const retrySeconds = { least: 60, most: 86_400 } as const;
/** The least that a client takes as information refresh time (section 21.23, IRT_MINIMUM). */
const refreshSecondsMin = 600;
/** Throws what keeps it from being served. */
export function checkPoolV6(definition: PoolDefinitionV6): void {
  const { parameters } = checkedPoolV6(definition);
  advertisementOf(definition, addressToBytes(definition.subnet.network), parameters);
}

/** With its options as bytes. */
export function checkedPoolV6(definition: PoolDefinitionV6): { readonly parameters: ParametersV6 } {
  check(definition);
  return { parameters: parametersOf(definition) };
}

/** `linkLocal`: its source, where the pool names no router. */
export function advertisementOf(
  definition: PoolDefinitionV6,
  linkLocal: Uint8Array,
  parameters: ParametersV6,
): RouterAdvertisement | undefined {
  const { subnet, router, mtu, advertise = true } = definition;
  if (!advertise) return undefined;
  return routerAdvertisement({
    source: router === undefined ? linkLocal : addressToBytes(router),
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
  parameters.set(codeV6.dnsServers, concatenate(dnsServers.map(addressToBytes)));
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
  if (serverAddress !== undefined && !isHostAddress(addressToBytes(serverAddress))) {
    throw bad(definition, `${serverAddress} cannot be the server's address: write a link-local one`);
  }
  if (linkLocal !== undefined && !isLinkLocal(addressToBytes(linkLocal))) {
    throw bad(definition, `${linkLocal} is not link-local: write one (fe80::...)`);
  }
  if (router !== undefined && !isLinkLocal(addressToBytes(router))) {
    throw bad(definition, `${router} cannot be advertised as a router: write its link-local address (fe80::...)`);
  }
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
