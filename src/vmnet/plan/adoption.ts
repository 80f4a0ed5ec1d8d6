// Taking a pool over from Harvester's controller: which addresses get a hold before anything new is given. Pure. Two
// records say what guests use: the pool's status (address -> MAC) and the statuses of network configs. What has a hold
// already is left alone. An address whose MAC no config has (Harvester leaks such) gets a hold of nobody's: it cools
// like one whose config is gone, and a config that comes with that MAC gets it. Tenants write statuses: nobody gets the
// server's address, the router's, or one that is reserved for another, whatever a record says.
import type { NicStatus } from "../../api/vmnet/network-config.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import type { Mac } from "../../net/mac.ts";
import { familyOf, placementOf, type PoolPlan } from "../rules/pool-plan.ts";
import type { NetworkConfigReading } from "../rules/read-network-config.ts";
import { readMac } from "./machine-nics.ts";
import type { NicOwner } from "./nic-hold.ts";

interface RecordedConfig {
  readonly reading: NetworkConfigReading;
  readonly shown: readonly DeepReadonly<NicStatus>[];
}

export interface AdoptionFacts {
  readonly plan: PoolPlan;
  /** status.ipv4.allocated and that of ipv6, as they were found. */
  readonly allocated: Readonly<Record<string, string>>;
  /** Those that are not being deleted, the oldest first. */
  readonly configs: readonly RecordedConfig[];
  readonly isHeld: (address: Address) => boolean;
  readonly hasHold: (mac: Mac, family: Address["family"]) => boolean;
}

export interface Adoption {
  readonly address: Address;
  readonly owner: NicOwner;
  readonly why: string;
}

export function planAdoption({ plan, allocated, configs, isHeld, hasHold }: AdoptionFacts): readonly Adoption[] {
  const found = new Map<string, Adoption>();
  /** `MAC FAMILY`: a MAC has one address of each. */
  const macs = new Set<string>();
  const add = (text: string | undefined, mac: Mac | undefined, owner: () => NicOwner | undefined, why: string) => {
    const address = mac && addressOf(text, mac, plan);
    if (mac === undefined || address === undefined) return;
    const slot = `${mac} ${address.family}`;
    if (found.has(address.toString()) || macs.has(slot) || isHeld(address) || hasHold(mac, address.family)) return;
    const whose = owner();
    if (whose === undefined) return;
    macs.add(slot);
    found.set(address.toString(), { address, owner: whose, why });
  };
  const asking = new Map<string, NicOwner>();
  const showing = new Map<string, NicOwner>();
  for (const { reading, shown } of configs) {
    for (const { plan: nic } of reading.nics)
      if (nic?.network.key === plan.network.key && !asking.has(nic.mac)) asking.set(nic.mac, ownerOf(reading, nic.mac));
    for (const { mac, address } of shownIn(shown, plan)) {
      const key = `${mac} ${address}`;
      if (!showing.has(key)) showing.set(key, ownerOf(reading, mac));
    }
  }
  const nobody = (mac: Mac): NicOwner => ({
    kind: "nic",
    uid: "",
    namespace: plan.namespace,
    name: plan.name,
    nic: mac,
  });
  for (const [address, text] of Object.entries(allocated)) {
    const mac = readMac(text);
    const owner = () => mac && (showing.get(`${mac} ${address}`) ?? asking.get(mac) ?? nobody(mac));
    add(address, mac, owner, `recorded in the status of ippl ${plan.key}`);
  }
  for (const { reading, shown } of configs) {
    if (reading.paused) continue;
    for (const { mac, address } of shownIn(shown, plan))
      add(address, mac, () => ownerOf(reading, mac), `recorded in the status of vmnetcfg ${reading.key}`);
  }
  return [...found.values()];
}

function* shownIn(shown: readonly DeepReadonly<NicStatus>[], { network }: PoolPlan) {
  for (const { networkName, macAddress, allocatedIPAddress = "", allocatedIPv6Address = "" } of shown) {
    const mac = readMac(macAddress);
    for (const address of [allocatedIPAddress, allocatedIPv6Address])
      if (networkName === network.key && mac !== undefined && address !== "") yield { mac, address };
  }
}

/** Excluded since, or outside of the range by now: a guest may use it all the same. */
function addressOf(text: string | undefined, mac: Mac, plan: PoolPlan): Address | undefined {
  const address = attempt(NetError, () => parseAddress(text ?? ""));
  const family = address && familyOf(plan, address);
  const found = address && family && placementOf(family, address);
  if (found === undefined || found.place === "outside-subnet") return undefined;
  return found.place === "reserved" && found.mac !== mac ? undefined : address;
}

function ownerOf({ uid, namespace, name }: NetworkConfigReading, mac: Mac): NicOwner {
  return { kind: "nic", uid, namespace, name, nic: mac };
}
