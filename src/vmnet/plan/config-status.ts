// The status of a network config, from the last plan. Pure; the same plan gives the same status, times included, so
// that a controller that restarts writes nothing. `Allocated` is True only with an address for every NIC of a managed
// network, of every family that its pools offer.
import type { NicStatus } from "../../api/vmnet/network-config.ts";
import type { StoredNetworkConfig } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import type { ConfigPlan, NicView } from "./config-plan.ts";
import { conditionOf, type SaidCondition, withConditions } from "./vmnet-conditions.ts";

type Status = NonNullable<StoredNetworkConfig["status"]>;

export function statusOfConfig(config: DeepReadonly<StoredNetworkConfig>, { nics }: ConfigPlan, nowMs: number): Status {
  const { status, metadata, spec } = config as StoredNetworkConfig;
  const name = `vmnetcfg ${metadata.namespace}/${metadata.name}`;
  const said = spec.paused === true ? pausedConditions(name) : conditionsOf(name, nics);
  return {
    ...status,
    networkConfigs: nics.map(statusOfNic),
    conditions: withConditions(status?.conditions, said, nowMs) as Status["conditions"],
  };
}

function statusOfNic({ networkName, macAddress, state, address, ipv6Address, message }: NicView): NicStatus {
  return {
    ...(address !== undefined && { allocatedIPAddress: address }),
    ...(ipv6Address !== undefined && { allocatedIPv6Address: ipv6Address }),
    macAddress,
    networkName,
    state,
    ...(message !== undefined && { message }),
  };
}

function conditionsOf(name: string, nics: readonly NicView[]): readonly SaidCondition[] {
  const managed = nics.filter(({ state }) => state !== "Unmanaged");
  const pending = managed.filter(({ state }) => state === "Pending");
  const isAllocated = managed.length > 0 && pending.length === 0;
  const nothing =
    nics.length === 0 ? `no network configs found for ${name}` : `no NIC of ${name} is on a network with a pool`;
  const why = managed.length === 0 ? nothing : [...new Set(pending.map(whyPending))].join("; ");
  return [conditionOf("Allocated", isAllocated, why), conditionOf("InSynced", true), conditionOf("Disabled", false)];
}

const whyPending = ({ networkName, macAddress, message = "it waits for its pool" }: NicView): string =>
  `${macAddress || "a NIC without a MAC"} in ${networkName || "no network"}: ${message}`;

function pausedConditions(name: string): readonly SaidCondition[] {
  const why = `${name} was administratively disabled`;
  return [conditionOf("Allocated", false, why), conditionOf("InSynced", false, why), conditionOf("Disabled", true)];
}
