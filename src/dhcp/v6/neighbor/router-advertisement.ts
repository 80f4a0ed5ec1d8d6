// Router advertisements (RFC 4861 section 4.2, RFC 8106 section 5): they tell guests to ask by DHCPv6 (M and O), which
// prefix is on the link, and where names are resolved.
//
// The agent is no router. Without a router in the configuration the lifetime is 0, and no guest gets a default route by
// it. With one, the advertisement is sent in its name: guests resolve its address themselves, for which there is no
// source link-layer address option. So all agents of a pool send the same bytes.
import { putUint16, uint16 } from "../../../frame/bytes.ts";
import { addressToBytes } from "../../../net/address.ts";
import type { Prefix } from "../../../net/prefix.ts";
import { uintBytes } from "../../options/bytes.ts";
import { concatenate, isLinkLocal } from "../bytes.ts";
import type { IcmpFrame } from "../frame/frame.ts";

export interface RouterAdvertisement {
  /** The link-local address that it is sent from. */
  readonly source: Uint8Array;
  /** ICMPv6 messages, with room for the checksum. */
  readonly message: Uint8Array;
  /** The last one, by which the router is one no more (section 6.2.5). Undefined: none is advertised. */
  readonly finalMessage: Uint8Array | undefined;
}

export interface AdvertisementParts {
  readonly source: Uint8Array;
  readonly isRouter: boolean;
  readonly subnet: Prefix;
  readonly mtu: number | undefined;
  /** As in the DHCPv6 options 23 and 24. */
  readonly dnsServers: Uint8Array | undefined;
  readonly domainSearch: Uint8Array | undefined;
}

export interface HeardAdvertisement {
  readonly source: Uint8Array;
  readonly isRouter: boolean;
}

const routerAdvertisementType = 134;
const headBytes = 16;
/** What no router lets through: the sender is on this link. */
const neighborHopLimit = 255;
const flag = { managed: 0x80, other: 0x40 } as const;
const option = { prefix: 3, mtu: 5, dnsServers: 25, domainSearch: 31 } as const;
/** The prefix is on the link (L). Guests make no addresses from it (A is not set): they come by DHCPv6. */
const onLink = 0x80;
const lifetimeAt = 6;

/** Longest time between two multicast advertisements (section 6.2.1, MaxRtrAdvInterval). */
export const intervalSecondsMax = 600;
/** Of the router and of DNS: three advertisements may get lost (section 6.2.1, RFC 8106 section 5.1). */
const lifetimeSeconds = 3 * intervalSecondsMax;
/** AdvValidLifetime and AdvPreferredLifetime of section 6.2.1. */
const prefixSeconds = { valid: 2_592_000, preferred: 604_800 } as const;

export function routerAdvertisement(parts: AdvertisementParts): RouterAdvertisement {
  const { source, isRouter, subnet, mtu, dnsServers, domainSearch } = parts;
  const head = new Uint8Array(headBytes);
  // Hop limit, reachable time and retransmission timer are 0: not told by us.
  head.set([routerAdvertisementType, 0, 0, 0, 0, flag.managed | flag.other]);
  const options = [
    ...(mtu === undefined ? [] : [optionOf(option.mtu, concatenate([new Uint8Array(2), uintBytes(mtu, 4)]))]),
    prefixOption(subnet),
    ...(dnsServers === undefined ? [] : [listOption(option.dnsServers, dnsServers)]),
    ...(domainSearch === undefined ? [] : [listOption(option.domainSearch, domainSearch)]),
  ];
  const withoutRouter = concatenate([head, ...options]);
  if (!isRouter) return { source, message: withoutRouter, finalMessage: undefined };
  const message = withoutRouter.slice();
  putUint16(message, lifetimeAt, lifetimeSeconds);
  return { source, message, finalMessage: withoutRouter };
}

function prefixOption(subnet: Prefix): Uint8Array {
  return optionOf(
    option.prefix,
    concatenate([
      Uint8Array.of(subnet.length, onLink),
      uintBytes(prefixSeconds.valid, 4),
      uintBytes(prefixSeconds.preferred, 4),
      new Uint8Array(4),
      addressToBytes(subnet.network),
    ]),
  );
}

/** Reserved, lifetime, and the list (RFC 8106 sections 5.1 and 5.2). */
function listOption(type: number, list: Uint8Array): Uint8Array {
  return optionOf(type, concatenate([new Uint8Array(2), uintBytes(lifetimeSeconds, 4), list]));
}

/** An advertisement off the wire, as a view of the frame; undefined: none, or none of this link (section 6.1.2). */
export function heardAdvertisement({ payload, hopLimit, source }: IcmpFrame): HeardAdvertisement | undefined {
  const isOne = payload[0] === routerAdvertisementType && payload[1] === 0 && payload.length >= headBytes;
  if (!isOne || hopLimit !== neighborHopLimit || !isLinkLocal(source)) return undefined;
  return { source, isRouter: uint16(payload, lifetimeAt) > 0 };
}

/** Type, length in units of eight bytes, and zeros up to a whole one (section 4.6). */
function optionOf(type: number, body: Uint8Array): Uint8Array {
  const units = Math.ceil((2 + body.length) / 8);
  const bytes = new Uint8Array(8 * units);
  bytes.set([type, units]);
  bytes.set(body, 2);
  return bytes;
}
