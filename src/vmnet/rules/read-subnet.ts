// The addresses of one family of a pool: subnet, range, excludes, reservations. Pure, and the cost does not depend on
// the size of the subnet. Promised: where start, end or an exclude is there and cannot be read, nothing is given out:
// the whole subnet is never meant by a slip of the hand.
import type { PoolDefinition, Reservation } from "../../ipam/definition.ts";
import { type Address, compare, equal, next, previous } from "../../net/address.ts";
import { difference, IntervalSet } from "../../net/interval-set.ts";
import { formatInterval, includes, intersection, type Interval, intervalOf, parseBlock } from "../../net/interval.ts";
import { type Mac, parseMac } from "../../net/mac.ts";
import { contains, parseCidr, type Prefix } from "../../net/prefix.ts";
import { addressOf, type AddressOf, type Fields, fieldsOf, listOf, parsed, show, textOf } from "./fields.ts";
import type { Issues } from "./issue.ts";
import type { AddressReservation } from "./pool-plan.ts";

/** One family's configuration, while it is read. */
export interface Source<F extends 4 | 6> {
  readonly family: F;
  readonly config: Fields;
  /** `spec.ipv4Config` */
  readonly path: string;
  readonly issues: Issues;
}

const examples = { 4: "192.168.48.0/24", 6: "fd00:48::/64" } as const;

export function readPrefix<F extends 4 | 6>({ family, config, path, issues }: Source<F>): Prefix | undefined {
  const field = `${path}.cidr`;
  const text = textOf(config["cidr"], field, issues);
  if (text === undefined) {
    issues.error("missing", field, `it is missing; write the subnet, like ${examples[family]}.`);
    return undefined;
  }
  const result = parsed(() => parseCidr(text));
  if ("why" in result) {
    issues.error("bad-subnet", field, result.why);
    return undefined;
  }
  const { address, prefix } = result.value;
  if (prefix.family !== family) {
    const message = `${show(text)} is IPv${prefix.family}; write an IPv${family} subnet, like ${examples[family]}.`;
    issues.error("bad-subnet", field, message);
    return undefined;
  }
  if (!isForHosts(prefix)) {
    issues.error("bad-subnet", field, `no host can have an address of ${prefix}; write the subnet of the VMs.`);
    return undefined;
  }
  if (prefix.hostBits < 2) {
    const message = `${prefix} has no room for a server and a VM; write a /${prefix.length + prefix.hostBits - 2} or larger.`;
    issues.error("subnet-too-small", field, message);
    return undefined;
  }
  if (!equal(address, prefix.network))
    issues.advise("bad-subnet", field, `${show(text)} is read as ${prefix}; write that.`);
  return prefix;
}

const noHosts = ["0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3", "::/8", "fe80::/10", "ff00::/8"].map(
  (text) => parseCidr(text).prefix,
);

/** Loopback, link-local, multicast, and what is reserved for ever. */
function isForHosts(prefix: Prefix): boolean {
  return !noHosts.some((each) => contains(each, prefix.network));
}

/** All but the first and the last: broadcast in IPv4, anycast in IPv6 (RFC 4291 2.6.1, RFC 2526), and in src/ipam. */
export function hostsOf(prefix: Prefix): Interval {
  return { first: next(prefix.first)!, last: previous(prefix.last)! };
}

/** An address of the subnet that a host can have; undefined: an issue says why not. */
export function readHost<F extends 4 | 6>(
  { family, issues }: Source<F>,
  prefix: Prefix,
  text: string,
  field: string,
): AddressOf<F> | undefined {
  const address = addressOf(text, family, (why) => issues.error("bad-address", field, why));
  if (address === undefined) return undefined;
  const hosts = hostsOf(prefix);
  if (includes(hosts, address)) return address;
  if (!contains(prefix, address)) {
    const message = `${address} is not within the subnet ${prefix}; write one of ${formatInterval(hosts)}.`;
    issues.error("outside-subnet", field, message);
  } else if (equal(address, prefix.network)) {
    const message = `${address} is the network address of ${prefix}; write one of ${formatInterval(hosts)}.`;
    issues.error("network-address", field, message);
  } else {
    const what = family === 4 ? "the broadcast" : "an anycast";
    const message = `${address} is ${what} address of ${prefix}; write one of ${formatInterval(hosts)}.`;
    issues.error("broadcast-address", field, message);
  }
  return undefined;
}

interface WrittenEnd {
  readonly text: string | undefined;
  readonly field: string;
}

/** `start` or `end`, inside `pool:` or beside it; both and different: an error. */
function writtenEnd<F extends 4 | 6>(
  { config, path, issues }: Source<F>,
  pool: Fields,
  end: "start" | "end",
): WrittenEnd {
  const inside = { text: textOf(pool[end], `${path}.pool.${end}`, issues), field: `${path}.pool.${end}` };
  const beside = { text: textOf(config[end], `${path}.${end}`, issues), field: `${path}.${end}` };
  if (inside.text !== undefined && beside.text !== undefined && inside.text !== beside.text) {
    const message = `it is ${show(beside.text)}, and ${inside.field} is ${show(inside.text)}; leave one of the two out.`;
    issues.error("given-twice", beside.field, message);
  }
  return inside.text === undefined && beside.text !== undefined ? beside : inside;
}

/** Undefined: an issue says why. */
export function readRange<F extends 4 | 6>(source: Source<F>, prefix: Prefix, pool: Fields): Interval | undefined {
  const { issues } = source;
  const hosts = hostsOf(prefix);
  const [first, last] = (["start", "end"] as const).map((each) => {
    const { text, field } = writtenEnd(source, pool, each);
    if (text === undefined) return each === "start" ? hosts.first : hosts.last;
    return readHost(source, prefix, text, field);
  });
  if (first === undefined || last === undefined) return undefined;
  if (compare(first, last) <= 0) return { first, last };
  const message = `the range starts at ${first} and ends at ${last}, below it; swap start and end.`;
  issues.error("backwards", `${source.path}.pool`, message);
  return undefined;
}

/** Single addresses, CIDRs, FIRST-LAST. An entry outside the subnet excludes nothing. */
export function readExcludes<F extends 4 | 6>(source: Source<F>, prefix: Prefix, pool: Fields): readonly Interval[] {
  const { issues } = source;
  const path = `${source.path}.pool.exclude`;
  return listOf(pool["exclude"], path, issues).flatMap((entry, index) => {
    const field = `${path}[${index}]`;
    const text = textOf(entry, field, issues);
    const result = parsed(() => parseBlock(text ?? ""));
    if ("why" in result) {
      const message = `${show(entry)} cannot be read (${result.why}); write an address, a CIDR or FIRST-LAST.`;
      issues.error("bad-exclude", field, message);
      return [];
    }
    const within = intersection(result.value, intervalOf(prefix));
    if (within !== undefined) return [within];
    const message = `${show(entry)} is outside the subnet ${prefix} and excludes nothing; correct it, or leave it out.`;
    issues.tolerate("bad-exclude", field, message);
    return [];
  });
}

/** One of which the address cannot be read is an error: it could be given to a VM. One with a bad MAC keeps nobody. */
export function readReservations<F extends 4 | 6>(source: Source<F>, prefix: Prefix): readonly AddressReservation[] {
  const { config, issues } = source;
  const path = `${source.path}.reservations`;
  const addresses = new Map<string, number>();
  const macs = new Map<Mac, number>();
  return listOf(config["reservations"], path, issues).flatMap((entry, index): AddressReservation[] => {
    const at = `${path}[${index}]`;
    const fields = fieldsOf(entry, at, issues);
    const text = textOf(fields["ipAddress"], `${at}.ipAddress`, issues);
    if (text === undefined) {
      issues.error("missing", `${at}.ipAddress`, "it is missing; write the address to reserve.");
      return [];
    }
    const address = readHost(source, prefix, text, `${at}.ipAddress`);
    if (address === undefined) return [];
    const earlier = addresses.get(address.toString());
    if (earlier !== undefined) {
      const message = `${address} is reserved in ${path}[${earlier}] already; leave one of the two out.`;
      issues.tolerate("bad-reservation", `${at}.ipAddress`, message);
      return [];
    }
    addresses.set(address.toString(), index);
    const mac = reservedMac(fields, at, issues);
    const taken = mac && macs.get(mac);
    if (taken !== undefined) {
      const message = `${mac} has a reservation in ${path}[${taken}] already, and gets that one; leave one of the two out.`;
      issues.tolerate("bad-reservation", `${at}.macAddress`, message);
    } else if (mac !== undefined) macs.set(mac, index);
    const hostname = hostnameIn(fields, at, issues);
    const description = textOf(fields["description"], `${at}.description`, issues);
    return [
      {
        address,
        ...(mac !== undefined && taken === undefined && { mac }),
        ...(hostname !== undefined && { hostname }),
        ...(description !== undefined && { description }),
      },
    ];
  });
}

/** Option 12 carries no more. */
function hostnameIn(fields: Fields, at: string, issues: Issues): string | undefined {
  const text = textOf(fields["hostname"], `${at}.hostname`, issues);
  if (text === undefined || /^[!-~]{1,255}$/.test(text)) return text;
  const message = `${show(text)} cannot be sent, and is left out; write a host name in ASCII.`;
  issues.tolerate("bad-reservation", `${at}.hostname`, message);
  return undefined;
}

function reservedMac(fields: Fields, at: string, issues: Issues): Mac | undefined {
  const text = textOf(fields["macAddress"], `${at}.macAddress`, issues);
  if (text === undefined) return undefined;
  const result = parsed(() => parseMac(text));
  if ("value" in result) return result.value;
  issues.tolerate("bad-mac", `${at}.macAddress`, `${result.why} Until then the address is nobody's.`);
  return undefined;
}

/** Reservations of src/ipam: each with its reason. */
export function reservedOf(
  reservations: readonly AddressReservation[],
  own: readonly (readonly [address: Address | undefined, reason: string])[],
): readonly Reservation[] {
  const single = (address: Address, reason: string) => ({ interval: { first: address, last: address }, reason });
  return [
    ...own.flatMap(([address, reason]) => (address === undefined ? [] : [single(address, reason)])),
    ...reservations.map(({ address, mac, description }) =>
      single(
        address,
        `reserved${mac === undefined ? "" : ` for ${mac}`}${description === undefined ? "" : ` (${description})`}`,
      ),
    ),
  ];
}

export interface SetParts {
  readonly prefix: Prefix;
  readonly range: Interval;
  readonly excludes: readonly Interval[];
  readonly reservations: readonly AddressReservation[];
  readonly reserved: readonly Reservation[];
  readonly leaseSeconds: number;
}

/** What follows from the parts. */
export function addressPlanOf({ excludes, ...parts }: SetParts) {
  const { prefix, range, reserved, leaseSeconds } = parts;
  const excluded = IntervalSet.of(excludes);
  const usable = difference(
    difference([range], excluded),
    reserved.map(({ interval }) => interval),
  );
  const definition: PoolDefinition = {
    prefix,
    start: range.first,
    end: range.last,
    excludes: [...excluded],
    reservations: reserved,
    cooldownMs: 1000 * leaseSeconds,
  };
  return { ...parts, excluded, usable, capacity: usable.size, definition };
}
