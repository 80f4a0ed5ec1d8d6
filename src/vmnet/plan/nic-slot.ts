// What is known of a network config, and its slots: one for each NIC and family. Values of the plans in this folder.
import type { NicStatus } from "../../api/vmnet/network-config.ts";
import type { Domain } from "../../ipam/ledger.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import type { Mac } from "../../net/mac.ts";
import type { NicPlan } from "../rules/read-network-config.ts";
import { readMac } from "./machine-nics.ts";
import type { NetworkFacts, NicHold, NicOwner } from "./nic-hold.ts";

export type Family = Address["family"];

export const families: readonly Family[] = [4, 6];

/** An entry that can be read. Of two with one MAC in one network only the first can. */
export interface NicAsk extends NicPlan {
  readonly fault?: undefined;
  /** Why it gets nothing new; what it has it keeps. */
  readonly barred?: string;
}

/** One that cannot: it is shown with the sentence, and stops no other. */
export interface BadNic {
  readonly fault: string;
  readonly networkName?: string | undefined;
  readonly macAddress?: string | undefined;
}

export interface ConfigFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly isPaused: boolean;
  /** As in the spec, in its order. */
  readonly nics: readonly (NicAsk | BadNic)[];
  /** What its status shows. */
  readonly shown: readonly DeepReadonly<NicStatus>[];
  /** By namespace/name; every network that a NIC names. */
  readonly networks: ReadonlyMap<string, NetworkFacts>;
  /** Holds of this config; what cools is not among them. */
  readonly own: readonly NicHold[];
  /** Left by a config of the same name that is gone, or recorded by Harvester for one of its MACs; cooling ones too. */
  readonly left: readonly NicHold[];
  /** Who else has the MAC in the network, with whichever family; what cools, and what is `left`, does not count. */
  readonly macHolder: (domain: Domain, mac: Mac) => NicHold | undefined;
  /** What the last try said: slot -> sentence. */
  readonly refusals?: ReadonlyMap<string, string>;
}

/** A NIC and a family: it has one address, or none. */
export interface NicSlot {
  readonly nic: NicAsk;
  /** Its place in the spec. */
  readonly index: number;
  readonly family: Family;
}

/** The key of a slot in the maps of a plan. */
export const slotKey = ({ index, family }: Pick<NicSlot, "index" | "family">): string => `${index} IPv${family}`;

/** The address that it asks for by number. */
export function wantedOf({ nic, family }: NicSlot): Address | undefined {
  return family === 4 ? nic.wanted : nic.wantedIpv6;
}

/** The address that its status shows. */
export function shownAddress({ shown }: ConfigFacts, { nic: { network, mac }, family }: NicSlot): Address | undefined {
  const found = shown.find((each) => each.networkName === network.key && readMac(each.macAddress) === mac);
  const text = (family === 4 ? found?.allocatedIPAddress : found?.allocatedIPv6Address) ?? "";
  const address = text === "" ? undefined : attempt(NetError, () => parseAddress(text));
  return address?.family === family ? address : undefined;
}

/** A hold that is of the slot's network and family; whose it is, is not asked. */
export const isAt = ({ domain, address }: NicHold, { nic, family }: NicSlot): boolean =>
  domain === nic.network.domain && address.family === family;

export const identityOf = ({ network, mac }: NicAsk): string => `${network.domain} ${mac}`;
export const identityOfHold = ({ domain, owner }: NicHold): string => `${domain} ${owner.nic}`;

export function ownerOf({ uid, namespace, name }: ConfigFacts, { mac }: NicAsk): NicOwner {
  return { kind: "nic", uid, namespace, name, nic: mac };
}
