// The annotation k8s.ovn.org/pod-networks: what a pod has on each network, as ovn-kubernetes writes and reads it. Pure.
//
// Promised: what is written is, byte for byte, what Go's encoding gives: order of fields, sorted networks, empty ones
// left out. An entry is passed on as it was found, with fields that nobody here knows.
import { z } from "zod";

import { readJson } from "../api/fields.ts";
import { type Address, parseAddress } from "../net/address.ts";
import { type Mac, parseMac } from "../net/mac.ts";
import { orNone } from "../net/or-none.ts";
import { type Cidr, parseCidr, type Prefix } from "../net/prefix.ts";

export const podNetworksAnnotation = "k8s.ovn.org/pod-networks";
/** The cluster's own network; others are named by their definition, NAMESPACE/NAME. */
const defaultNetwork = "default";

/** As it stands in the annotation. */
export type NetworkEntry = Readonly<Record<string, unknown>>;

interface PodRoute {
  readonly destination: Prefix;
  readonly nextHop: Address | undefined;
}

export interface PodNetwork {
  /** Each with the length of the node subnet that it was taken from. One per family at the most. */
  readonly addresses: readonly Cidr[];
  readonly mac: Mac;
  readonly gateways: readonly Address[];
  readonly routes: readonly PodRoute[];
  /** "primary" on the default network, where no user-defined network is. */
  readonly role?: string;
}

export interface FoundNetwork extends PodNetwork {
  readonly entry: NetworkEntry;
}

const entries = z.record(z.string(), z.looseObject({}));
const shape = z.looseObject({
  ip_addresses: z.array(z.string()).optional(),
  mac_address: z.string(),
  gateway_ips: z.array(z.string()).nullish(),
  routes: z.array(z.looseObject({ dest: z.string(), nextHop: z.string().optional() })).nullish(),
  ip_address: z.string().optional(),
  gateway_ip: z.string().optional(),
  role: z.string().optional(),
});

/** Undefined: there is none, or none that can be read. */
export function readPodNetwork(text: string | undefined): FoundNetwork | undefined {
  const entry = text === undefined ? undefined : readJson(entries, text)?.[defaultNetwork];
  return entry === undefined ? undefined : orNone(() => networkOf(entry));
}

/** Throws what src/net throws. */
function networkOf(entry: NetworkEntry): FoundNetwork | undefined {
  const parsed = shape.safeParse(entry).data;
  if (parsed === undefined) return undefined;
  const { ip_addresses: ips, ip_address: ip, gateway_ips: gateways, gateway_ip: gateway, routes, role } = parsed;
  const addresses = listOr(ips, ip).map((each) => parseCidr(each));
  const families = new Set(addresses.map(({ address }) => address.family));
  // A VM without an address is nobody to move; of two in one family nobody could say which its guest has.
  if (addresses.length === 0 || families.size < addresses.length) return undefined;
  return {
    addresses,
    mac: parseMac(parsed.mac_address),
    gateways: listOr(gateways, gateway).map((each) => parseAddress(each)),
    routes: (routes ?? []).map(({ dest, nextHop = "" }) => ({
      destination: parseCidr(dest).prefix,
      nextHop: nextHop === "" ? undefined : parseAddress(nextHop),
    })),
    ...(role !== undefined && { role }),
    entry,
  };
}

/** The list, or the one value of a time before the list. */
function listOr(list: readonly string[] | null | undefined, single: string | undefined): readonly string[] {
  if (list !== undefined && list !== null && list.length > 0) return list;
  return single === undefined || single === "" ? [] : [single];
}

/** `ip_address` and `gateway_ip` are for readers of a time before lists: written where there is one of each. */
export function networkEntry({ addresses, mac, gateways, routes, role }: PodNetwork): NetworkEntry {
  const ips = addresses.map(({ address, prefix }) => `${address}/${prefix.length}`);
  return {
    ip_addresses: ips,
    mac_address: mac,
    ...(gateways.length > 0 && { gateway_ips: gateways.map(String) }),
    ...(routes.length > 0 && {
      routes: routes.map(({ destination, nextHop }) => ({ dest: `${destination}`, nextHop: `${nextHop ?? ""}` })),
    }),
    ...(ips.length === 1 && { ip_address: ips[0] }),
    ...(ips.length === 1 && gateways.length === 1 && { gateway_ip: `${gateways[0]}` }),
    ...(role !== undefined && role !== "" && { role }),
  };
}

/** The annotation with this entry, for the default network or a definition (NAMESPACE/NAME); all others stay. */
export function writePodNetworks(text: string | undefined, entry: NetworkEntry, network = defaultNetwork): string {
  const others = (text === undefined ? undefined : readJson(entries, text)) ?? {};
  const all: Record<string, unknown> = { ...others, [network]: entry };
  const sorted = Object.keys(all)
    .toSorted()
    .map((name) => [name, all[name]]);
  return goJson(Object.fromEntries(sorted));
}

/** Go's encoding writes three letters otherwise, so that the text may stand in HTML. */
function goJson(value: object): string {
  return JSON.stringify(value).replaceAll(/[<>&]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
}
