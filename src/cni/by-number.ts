// Whether an address may be asked for by number: the one rule for pods, runtimes and claims. Pure.
//
// The definition has to consent, and the address is one that the network would hand out by itself: of one of its own
// ranges, between its ends, not excluded, neither network, broadcast nor gateway address, one of the picks if any.
import { type Address, equal } from "../net/address.ts";
import { includes } from "../net/interval.ts";
import { contains } from "../net/prefix.ts";
import type { IpamConfig } from "./config/ipam-config.ts";
import { gives, type IpamRange } from "./config/range.ts";

/** One interface has no use for more, and each is a record that no other pod can have. */
export const maxRequested = 16;

type Network = Pick<IpamConfig, "name" | "allowsRequests" | "ranges" | "gateway">;

/** Why nobody may ask on this network, as a part of a sentence with the remedy; undefined where it is allowed. */
export function consentFault({ name, allowsRequests }: Network): string | undefined {
  if (allowsRequests) return undefined;
  return (
    `the network ${name} does not let its pods choose addresses; ask for none, or let its administrator write ` +
    '"capabilities": {"ips": true} into the plugin or "allow_requested_ips": true into its ipam'
  );
}

/** Why this address cannot be asked for, as a part of a sentence with the remedy; undefined where it can. */
export function placeFault({ name, ranges, gateway }: Network, address: Address): string | undefined {
  const around = ranges.filter(({ prefix }) => contains(prefix, address));
  if (around.length === 0) {
    const given = ranges.map(({ prefix }) => `${prefix}`).join(", ") || "none";
    return `it is in no range of the network ${name} (${given}); ask for an address of those`;
  }
  if (gateway !== undefined && equal(gateway, address))
    return `it is the gateway of the network ${name}; ask for another`;
  const faults = around.map((range) => rangeFault(range, address));
  return faults.includes(undefined) ? undefined : faults[0];
}

function rangeFault(range: IpamRange, address: Address): string | undefined {
  const { prefix, start, end, excludes, picks } = range;
  if (excludes.some((each) => includes(each, address))) return `${prefix} excludes it; ask for another`;
  if (picks.length > 0 && !picks.some((pick) => equal(pick, address))) {
    return `it is none of the pick_addresses of ${prefix}; ask for one of those`;
  }
  if (gives(range, address)) return undefined;
  const ends =
    start === undefined && end === undefined ? "" : ` from ${start ?? prefix.first} to ${end ?? prefix.last}`;
  return `it is none of the addresses that ${prefix} hands out${ends}; ask for one of those`;
}
