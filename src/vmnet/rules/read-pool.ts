// What a managed pool means (V1 and V4 to V17 of Harvester's webhook, and what it never checked). Pure. Objects are
// read as they come, also such that another definition of the kind let pass: no content makes it throw. Lenient and
// strict are one reading: issue.ts has the weights, and only the webhook refuses what is merely tolerated.
import type { ReadMetadata } from "../../api/metadata.ts";
import { equal, next, type V4Address } from "../../net/address.ts";
import { IntervalSet } from "../../net/interval-set.ts";
import { includes, type Interval } from "../../net/interval.ts";
import { contains, parseCidr, type Prefix } from "../../net/prefix.ts";
import { addressOf, fieldsOf, flagOf, isFields, textOf } from "./fields.ts";
import { type Issue, Issues } from "./issue.ts";
import { readNetworkRef } from "./network-ref.ts";
import type { AddressReservation, Ipv4Plan, Ipv6Plan, PoolPlan } from "./pool-plan.ts";
import { examineDhcp, readAddresses, readDhcpOptions, readDomains, readLeaseSeconds } from "./read-options.ts";
import * as subnet from "./read-subnet.ts";

/** A pool as the API server, a cache or a file has it. */
export interface PoolObject {
  readonly metadata: ReadMetadata & { readonly creationTimestamp?: string | undefined };
  readonly spec?: unknown;
}

export interface PoolReading {
  /** Undefined: at least one issue is an error, and nothing is to be allocated or served by this object. */
  readonly plan: PoolPlan | undefined;
  readonly issues: readonly Issue[];
}

export function readPool({ metadata, spec }: PoolObject): PoolReading {
  const issues = new Issues();
  const fields = fieldsOf(spec, "spec", issues);
  const network = readNetworkRef(textOf(fields["networkName"], "spec.networkName", issues), "spec.networkName", issues);
  const { namespace = "", name = "", uid = "", creationTimestamp: createdAt = "" } = metadata;
  const key = `${namespace}/${name}`;
  const ipv4 = readIpv4(fields["ipv4Config"], key, issues);
  const ipv6 = readIpv6(fields["ipv6Config"], issues);
  const paused = flagOf(fields["paused"], "spec.paused", issues);
  if (ipv4 === undefined || network === undefined || issues.hasErrors) return { plan: undefined, issues: issues.list };
  const { domain } = network;
  const plan = { namespace, name, key, uid, createdAt, network, domain, paused, ipv4, ...(ipv6 && { ipv6 }) };
  return { plan, issues: issues.list };
}

function readIpv4(value: unknown, key: string, issues: Issues): Ipv4Plan | undefined {
  const path = "spec.ipv4Config";
  if (!isFields(value)) {
    issues.error("missing", path, "it is missing; write at least the subnet: ipv4Config: {cidr: 192.168.48.0/24}.");
    return undefined;
  }
  const source: subnet.Source<4> = { family: 4, config: value, path, issues };
  const prefix = subnet.readPrefix(source);
  if (prefix === undefined) return undefined;
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
  if (range === undefined || server === undefined) return undefined;
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
  const dhcp = {
    ...options,
    name: key,
    subnet: prefix,
    serverIdentifier: server,
    leaseSeconds,
    ...(router && { routers: [router] }),
  };
  examineDhcp(dhcp, path, issues);
  return { ...addresses, server, ...(router && { router }), dhcp };
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

/** What is wrong with it takes IPv6 away from the pool, and leaves IPv4 as it is. */
function readIpv6(value: unknown, outer: Issues): Ipv6Plan | undefined {
  if (value === undefined || value === null) return undefined;
  const path = "spec.ipv6Config";
  const issues = new Issues();
  const plan = ipv6PlanOf({ family: 6, config: fieldsOf(value, path, issues), path, issues });
  for (const { weight, code, field, message } of issues.list) {
    if (weight === "advice") outer.advise(code, field, message);
    else outer.tolerate(code, field, weight === "error" ? `${message} Until then the pool has no IPv6.` : message);
  }
  return issues.hasErrors ? undefined : plan;
}

const linkLocal = parseCidr("fe80::/10").prefix;

function ipv6PlanOf(source: subnet.Source<6>): Ipv6Plan | undefined {
  const { config, path, issues } = source;
  const prefix = subnet.readPrefix(source);
  if (prefix === undefined) return undefined;
  const pool = fieldsOf(config["pool"], `${path}.pool`, issues);
  const range = subnet.readRange(source, prefix, pool);
  const excludes = subnet.readExcludes(source, prefix, pool);
  const reservations = subnet.readReservations(source, prefix);
  const server = onLink(source, prefix, "serverIP");
  const router = onLink(source, prefix, "router");
  const leaseSeconds = readLeaseSeconds(source);
  if (range === undefined) return undefined;
  const inside = (address: typeof server) => (address && contains(prefix, address) ? address : undefined);
  const reserved = subnet.reservedOf(reservations, [
    [inside(server), "server"],
    [inside(router), "router"],
  ]);
  return {
    ...subnet.addressPlanOf({ prefix, range, excludes, reservations, reserved, leaseSeconds }),
    ...(server && { server }),
    ...(router && { router }),
    dns: readAddresses(source, "dns"),
    domainSearch: readDomains(source),
    advertise: flagOf(config["advertise"] ?? true, `${path}.advertise`, issues),
  };
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
