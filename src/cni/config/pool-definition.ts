// From a range of a configuration to what src/ipam needs: the pool's definition, what to ask of it, and the gateway.
import { DefinitionError, type PoolDefinition, reservationsOf, usableOf } from "../../ipam/definition.ts";
import type { Want } from "../../ipam/request.ts";
import type { Address } from "../../net/address.ts";
import { difference, IntervalSet } from "../../net/interval-set.ts";
import { contains } from "../../net/prefix.ts";
import type { IpamConfig } from "./ipam-config.ts";
import type { IpamRange } from "./range.ts";

/** The pool of a whole range. A node's slice of it is cut by src/slices: this says what the range allows. */
export function poolDefinitionOf(config: IpamConfig, range: IpamRange): PoolDefinition {
  const { prefix, start, end, excludes, l3 } = range;
  const { gateway, excludeGateway } = config;
  const reserved = excludeGateway && gateway !== undefined && contains(prefix, gateway);
  const ends = { ...(start && { start }), ...(end && { end }) };
  return { prefix, ...ends, outside: "ignore", excludes, ...(reserved && { gateway }), l3 };
}

/** What the configuration hands out of the range; nothing if it cannot be: its own ADDs are refused with the words. */
export function usefulOf(config: IpamConfig, range: IpamRange): IntervalSet {
  const pool = poolDefinitionOf(config, range);
  try {
    const kept = [...(pool.excludes ?? []), ...reservationsOf(pool).map(({ interval }) => interval)];
    return difference([usableOf(pool)], kept);
  } catch (error) {
    if (error instanceof DefinitionError) return new IntervalSet();
    throw error;
  }
}

/** What to ask of the range's pool where no address is asked for by number. */
export function wantOf(range: IpamRange): Want {
  return range.picks.length === 0 ? { kind: "any" } : { kind: "oneOf", addresses: range.picks };
}

/**
 * The gateway of an address from this range: the configured one if it is in the range's network, or in no range's
 * network and of this family (fe80::1, or a router on the link). whereabouts puts it on addresses of both families.
 */
export function gatewayOf(config: IpamConfig, range: IpamRange): Address | undefined {
  const { gateway, ranges } = config;
  if (gateway === undefined || gateway.family !== range.prefix.family) return undefined;
  if (contains(range.prefix, gateway)) return gateway;
  return ranges.some(({ prefix }) => contains(prefix, gateway)) ? undefined : gateway;
}
