// What a managed pool means (V1 and V4 to V17 of Harvester's webhook, and what it never checked). Pure. Objects are
// read as they come, also such that another definition of the kind let pass: no content makes it throw. Lenient and
// strict are one reading: issue.ts has the weights, and only the webhook refuses what is merely tolerated.
import type { ReadMetadata } from "../../api/metadata.ts";
import { equal, next, type V4Address } from "../../net/address.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import { includes, type Interval } from "../../net/interval.ts";
import { contains, parseCidr, type Prefix } from "../../net/prefix.ts";
import { addressOf, fieldsOf, flagOf, isFields, textOf } from "./fields.ts";
import { type Issue, Issues, withoutIpv6 } from "./issue.ts";
import { type NetworkRef, readNetworkRef } from "./network-ref.ts";
import type { AddressReservation, Ipv4Plan, Ipv6Plan, PoolPlan, PoolService } from "./pool-plan.ts";
import {
  readAddresses,
  readDhcpOptions,
  readDomains,
  readLeaseSeconds,
  servableDhcp,
  servableDhcpV6,
} from "./read-options.ts";
import * as subnet from "./read-subnet.ts";

/** A pool as the API server, a cache or a file has it. */
export interface PoolObject {
  readonly metadata: ReadMetadata & { readonly creationTimestamp?: string | undefined };
  readonly spec?: unknown;
}

export interface PoolReading {
  /** Undefined: it names none. */
  readonly network: NetworkRef | undefined;
  /** Undefined: at least one issue is an error, and nothing is to be allocated by this object. */
  readonly plan: PoolPlan | undefined;
  /** For those who have an address already, also where nobody new can get one. Undefined: nothing can be served. */
  readonly service: PoolService | undefined;
  readonly issues: readonly Issue[];
}

export function readPool({ metadata, spec }: PoolObject): PoolReading {
  const issues = new Issues();
  const fields = fieldsOf(spec, "spec", issues);
  const network = readNetworkRef(textOf(fields["networkName"], "spec.networkName", issues), "spec.networkName", issues);
  const { namespace = "", name = "", uid = "", creationTimestamp: createdAt = "" } = metadata;
  const key = `${namespace}/${name}`;
  const v4 = readIpv4(fields["ipv4Config"], key, issues);
  const v6 = readIpv6(fields["ipv6Config"], key, issues);
  const paused = flagOf(fields["paused"], "spec.paused", issues);
  const { plan: ipv4, dhcp } = v4;
  const reservations = [...v4.reservations, ...v6.reservations];
  const dhcpV6 = v6.dhcp && { dhcpV6: v6.dhcp };
  const service = dhcp && { key, paused, dhcp, ...dhcpV6, reservations };
  if (ipv4 === undefined || network === undefined || issues.hasErrors) {
    return { network, plan: undefined, service, issues: issues.list };
  }
  const { domain } = network;
  const ipv6 = v6.plan && { ipv6: v6.plan };
  const plan = { namespace, name, key, uid, createdAt, network, domain, paused, ipv4, ...ipv6 };
  return { network, plan, service, issues: issues.list };
}

/** One family: what can be given out, and what can be served to those who have something. */
interface FamilyReading<Plan, Dhcp> {
  readonly plan?: Plan | undefined;
  readonly dhcp?: Dhcp | undefined;
  readonly reservations: readonly AddressReservation[];
}

const unread = { reservations: [] } as const;

function readIpv4(value: unknown, key: string, issues: Issues): FamilyReading<Ipv4Plan, PoolService["dhcp"]> {
  const path = "spec.ipv4Config";
  if (!isFields(value)) {
    issues.error("missing", path, "it is missing; write at least the subnet: ipv4Config: {cidr: 192.168.48.0/24}.");
    return unread;
  }
  const source: subnet.Source<4> = { family: 4, config: value, path, issues };
  const prefix = subnet.readPrefix(source);
  if (prefix === undefined) return unread;
  const pool = fieldsOf(value["pool"], `${path}.pool`, issues);
  const range = subnet.readRange(source, prefix, pool);
  const excludes = subnet.readExcludes(source, prefix, pool);
  const reservations = subnet.readReservations(source, prefix);
  const [routerText, serverText] = ["router", "serverIP"].map((end) => textOf(value[end], `${path}.${end}`, issues));
  const router = routerText === undefined ? undefined : subnet.readHost(source, prefix, routerText, `${path}.router`);
  const server =
    serverText === undefined
      ? defaultServer(prefix, { excludes, router, reservations })
      : subnet.readHost(source, prefix, serverText, `${path}.serverIP`);
  const leaseSeconds = readLeaseSeconds(source);
  const options = readDhcpOptions(source, prefix);
  if (serverText === undefined && server === undefined) {
    const message = `no address of ${prefix} is left for the server beside router, excludes and reservations; write one.`;
    issues.error("no-server-address", `${path}.serverIP`, message);
  }
  if (server === undefined) return { reservations };
  const told = { ...options, name: key, subnet: prefix, serverIdentifier: server, leaseSeconds };
  const dhcp = servableDhcp({ ...told, ...(router && { routers: [router] }) }, path, issues);
  if (range === undefined) return { dhcp, reservations };
  examineServer({ path, server, router, excludes, reservations }, issues);
  const reserved = subnet.reservedOf(reservations, [
    [server, "server"],
    [router, "router"],
  ]);
  const addresses = subnet.addressPlanOf({ prefix, range, excludes, reservations, reserved, leaseSeconds });
  if (addresses.capacity === 0n) {
    const message = "no address is left for VMs that ask for any; widen start and end, or exclude less.";
    issues.advise("nothing-usable", `${path}.pool`, message);
  }
  return { plan: { ...addresses, server, ...(router && { router }), dhcp }, dhcp, reservations };
}

interface Withheld {
  readonly excludes: readonly Interval[];
  readonly router: V4Address | undefined;
  readonly reservations: readonly AddressReservation[];
}

/** M1: the first host that nothing else is. As many looks as there are excludes and reservations, at most. */
function defaultServer(prefix: Prefix, { excludes, router, reservations }: Withheld): V4Address | undefined {
  const single = (address: Interval["first"]) => ({ first: address, last: address });
  const taken = IntervalSet.of([
    ...excludes,
    ...reservations.map(({ address }) => single(address)),
    ...(router ? [single(router)] : []),
  ]);
  const first = taken.nextOutside(next(prefix.first)!);
  return first !== undefined && includes(subnet.hostsOf(prefix), first) ? (first as V4Address) : undefined;
}

function examineServer(
  { path, server, router, excludes, reservations }: Withheld & { readonly path: string; readonly server: V4Address },
  issues: Issues,
): void {
  const field = `${path}.serverIP`;
  if (router !== undefined && equal(server, router)) {
    issues.error("server-is-router", field, `${server} is the router too; write another, or leave one of the two out.`);
  }
  const index = excludes.findIndex((each) => includes(each, server));
  if (index >= 0) {
    const message = `${server} is in pool.exclude too; take it out there: no VM gets the server's address anyway.`;
    issues.tolerate("bad-exclude", field, message);
  }
  for (const [what, address] of [
    ["server", server],
    ["router", router],
  ] as const) {
    if (address === undefined || !reservations.some((each) => equal(each.address, address))) continue;
    const message = `${address} is the ${what}'s, and cannot be a reservation too; leave it out.`;
    issues.error("bad-reservation", `${path}.reservations`, message);
  }
}

type Ipv6Reading = FamilyReading<Ipv6Plan, NonNullable<PoolService["dhcpV6"]>>;

/** What is wrong with it takes IPv6 away from those who have none yet, and leaves IPv4 as it is. */
function readIpv6(value: unknown, key: string, outer: Issues): Ipv6Reading {
  if (value === undefined || value === null) return unread;
  const path = "spec.ipv6Config";
  const issues = new Issues();
  const { plan, ...served } = ipv6Of({ family: 6, config: fieldsOf(value, path, issues), path, issues }, key);
  for (const { weight, code, field, message } of issues.list) {
    if (weight === "advice") outer.advise(code, field, message);
    else outer.tolerate(code, field, weight === "error" ? `${message} ${withoutIpv6}` : message);
  }
  return issues.hasErrors ? served : { plan, ...served };
}

const linkLocal = parseCidr("fe80::/10").prefix;

function ipv6Of(source: subnet.Source<6>, key: string): Ipv6Reading {
  const { config, path, issues } = source;
  const prefix = subnet.readPrefix(source);
  if (prefix === undefined) return unread;
  const pool = fieldsOf(config["pool"], `${path}.pool`, issues);
  const range = subnet.readRange(source, prefix, pool);
  const excludes = subnet.readExcludes(source, prefix, pool);
  const reservations = subnet.readReservations(source, prefix);
  const server = onLink(source, prefix, "serverIP");
  const router = onLink(source, prefix, "router");
  const leaseSeconds = readLeaseSeconds(source);
  const dns = readAddresses(source, "dns");
  const domainSearch = readDomains(source);
  const advertise = flagOf(config["advertise"] ?? true, `${path}.advertise`, issues);
  const advertised = router && contains(linkLocal, router) ? { router } : {};
  if (advertise && router !== undefined && advertised.router === undefined) {
    const message = `${router} is not link-local, and guests are not told of it: only a link-local address can advertise itself (RFC 4861); write fe80::...`;
    issues.advise("bad-option", `${path}.router`, message);
  }
  const told = { name: key, subnet: prefix, leaseSeconds, dnsServers: dns, domainSearch, advertise };
  const dhcp = servableDhcpV6({ ...told, ...(server && { serverAddress: server }), ...advertised }, path, issues);
  if (range === undefined) return { dhcp, reservations };
  const inside = (address: typeof server) => (address && contains(prefix, address) ? address : undefined);
  const reserved = subnet.reservedOf(reservations, [
    [inside(server), "server"],
    [inside(router), "router"],
  ]);
  const plan = {
    ...subnet.addressPlanOf({ prefix, range, excludes, reservations, reserved, leaseSeconds }),
    ...(server && { server }),
    ...(router && { router }),
    dns,
    domainSearch,
    advertise,
  };
  return { plan, dhcp, reservations };
}

/** Link-local, or of the subnet. */
function onLink(source: subnet.Source<6>, prefix: Prefix, key: "serverIP" | "router") {
  const { config, path, issues } = source;
  const field = `${path}.${key}`;
  const text = textOf(config[key], field, issues);
  if (text === undefined) return undefined;
  const address = addressOf(text, 6, (why) => issues.error("bad-address", field, why));
  if (address === undefined || contains(linkLocal, address)) return address;
  return subnet.readHost(source, prefix, text, field);
}
