// A NIC's request beside everything else in the cluster: may it name this network, has the network a pool, is the
// address one of it and free, has nobody else the MAC. Pure: whoever asks brings the facts. An error is this NIC's
// alone.
import { describeOwner } from "../../ipam/owner.ts";
import { type Address, equal } from "../../net/address.ts";
import { formatInterval } from "../../net/interval.ts";
import type { Mac } from "../../net/mac.ts";
import type { DefinitionText } from "./definition.ts";
import type { HeldAddress, Trusted } from "./examine-pool.ts";
import { type Issue, Issues } from "./issue.ts";
import { familyOf, placementOf, type PoolPlan, reservationFor } from "./pool-plan.ts";
import { type NetworkConfigReading, type NicPlan, wantedIn } from "./read-network-config.ts";

/** A NIC of another network config, on the same network. */
export interface RivalNic {
  /** namespace/name of its network config. */
  readonly config: string;
  readonly createdAt: string;
  readonly mac: Mac;
  readonly wanted?: Address;
  readonly wantedIpv6?: Address;
}

export interface NicFacts {
  readonly config: Pick<NetworkConfigReading, "namespace" | "name" | "key" | "uid" | "createdAt">;
  readonly nic: NicPlan;
  /** `spec.networkConfigs[0]` */
  readonly field: string;
  /** Its network; unknown: it could not be read, and nothing is said about it. */
  readonly definition: DefinitionText | "missing" | "unknown";
  /** The pools of its network that can be served. */
  readonly pools: readonly PoolPlan[];
  readonly rivals: readonly RivalNic[];
  /** Who has the addresses that it asks for. */
  readonly holders: readonly HeldAddress[];
  readonly trusted: Trusted;
}

export function examineNic(facts: NicFacts): readonly Issue[] {
  const { config, nic, field, definition, pools, rivals, trusted } = facts;
  const issues = new Issues();
  const { network } = nic;
  if (!mayUse(config.namespace, network.namespace, trusted)) {
    const message = `${network.key} is a network of another namespace, which VMs of ${config.namespace} may not use; use one of ${config.namespace}, or one that an administrator shares in one of --trusted-namespaces of the controller (default).`;
    issues.error("foreign-namespace", `${field}.networkName`, message);
    return issues.list;
  }
  if (definition === "missing") {
    const message = `there is no NetworkAttachmentDefinition ${network.key}; make it first, or correct the name.`;
    issues.error("unknown-network", `${field}.networkName`, message);
    return issues.list;
  }
  const twin = rivals.find((rival) => rival.mac === nic.mac && comesFirst(rival, config));
  if (twin !== undefined) {
    const message = `${nic.mac} is a NIC of ${configFor(config, twin)} on ${network.key} already; write another MAC, or delete that one.`;
    issues.error("duplicate-mac", `${field}.macAddress`, message);
  }
  if (pools.length === 0) {
    const message = `no ippl is on ${network.key}: the NIC gets no address until one is.`;
    issues.advise("no-pool", `${field}.networkName`, message);
  } else for (const each of wantedIn(nic)) examineWanted(facts, each, issues);
  return issues.list;
}

/** A VM uses its own namespace's networks, and those that administrators share. */
export function mayUse(configNamespace: string, networkNamespace: string, trusted: Trusted): boolean {
  return configNamespace === networkNamespace || trusted.has(networkNamespace);
}

function comesFirst(rival: RivalNic, config: NicFacts["config"]): boolean {
  if (rival.config === config.key) return false;
  if (rival.createdAt === "" || config.createdAt === "") return config.createdAt === "";
  return rival.createdAt === config.createdAt ? rival.config < config.key : rival.createdAt < config.createdAt;
}

type Wanted = ReturnType<typeof wantedIn>[number];

function examineWanted(facts: NicFacts, { address: wanted, field }: Wanted, issues: Issues): void {
  const { config, nic, pools, rivals, holders } = facts;
  const at = `${facts.field}.${field}`;
  const holder = holders.find(({ address }) => equal(address, wanted));
  const why = whyNotGiven(pools, nic.mac, wanted);
  if (why !== undefined) issues.error("not-in-pool", at, why);
  const rival = rivals.find(
    (each) => wantedIn(each).some(({ address }) => equal(address, wanted)) && comesFirst(each, config),
  );
  if (rival !== undefined) {
    const message = `${wanted} is asked for by ${configFor(config, rival)} already; write another, or leave it out and any is given.`;
    issues.error("duplicate-address", at, message);
  } else if (holder !== undefined && !isOwn(holder, config, nic)) {
    const message = `${wanted} is already allocated: ${ownerFor(config, holder)} has it; write another, or leave it out and any is given.`;
    issues.error("address-held", at, message);
  }
}

/** Whose VMs are on a shared network is not everybody's to know. */
function configFor({ namespace }: NicFacts["config"], { config }: RivalNic): string {
  return config.startsWith(`${namespace}/`) ? `vmnetcfg ${config}` : "a vmnetcfg of another namespace";
}

function ownerFor({ namespace }: NicFacts["config"], { owner }: HeldAddress): string {
  return owner.namespace === namespace ? describeOwner(owner) : "a VM of another namespace";
}

/** The same NIC of the same network config, or of a namesake that is gone. */
function isOwn({ owner }: HeldAddress, { namespace, name, uid }: NicFacts["config"], { mac }: NicPlan): boolean {
  if (owner.kind !== "nic" || owner.nic !== mac) return false;
  return owner.uid === uid || (owner.namespace === namespace && owner.name === name);
}

/** `the server address of`, or `reserved for 02:00:00:00:00:07 in`. */
function described(reason: string): string {
  return reason.startsWith("reserved") ? `${reason} in` : `the ${reason} address of`;
}

/** Undefined: one of the pools can give it to this NIC. */
export function whyNotGiven(pools: readonly PoolPlan[], mac: Mac, wanted: Address): string | undefined {
  let near: string | undefined;
  for (const pool of pools) {
    const plan = familyOf(pool, wanted);
    if (plan === undefined) continue;
    const kept = reservationFor(plan, mac)?.address;
    if (kept !== undefined && !equal(kept, wanted)) {
      return `${mac} has the reservation ${kept} in ippl ${pool.key}; write that one, or leave it out.`;
    }
    const found = placementOf(plan, wanted);
    const other = "write another, or leave it out and any is given.";
    switch (found.place) {
      case "usable":
        return undefined;
      case "reserved":
        if (found.mac === mac) return undefined;
        near = `${wanted} is ${described(found.reason)} ippl ${pool.key}; ${other}`;
        break;
      case "excluded":
        near = `${wanted} is excluded in ippl ${pool.key}; ${other}`;
        break;
      case "outside-range":
        near ??= `${wanted} is not in the range ${formatInterval(plan.range)} of ippl ${pool.key}; ${other}`;
        break;
      case "outside-subnet":
        break;
    }
  }
  if (near !== undefined) return near;
  const subnets = pools.flatMap((pool) => familyOf(pool, wanted)?.prefix.toString() ?? []);
  const within = subnets.length === 0 ? `which has no IPv${wanted.family}` : [...new Set(subnets)].join(", ");
  return `${wanted} is not in a subnet of its network, ${within}; write one of a pool's range, or leave it out and any is given.`;
}
