// From a managed pool, as the API server has it, to what the DHCP servers serve. Pure. What a pool means is read where
// everybody reads it (src/vmnet/rules).
//
// Promised: a pool without a usable network, subnet or server address is not served, and says why; any other mistake
// costs only the option or the reservation that it is in, and no guest the address that it has. The same object gives
// the same answer in every agent.
import type { StoredManagedPool } from "../../cluster/resources.ts";
import type { BindingDefinition } from "../../dhcp/server/binding.ts";
import type { PoolDefinition } from "../../dhcp/server/pool.ts";
import type { BindingDefinitionV6 } from "../../dhcp/v6/server/binding.ts";
import type { PoolDefinitionV6 } from "../../dhcp/v6/server/pool-definition.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { claimOf, type PoolClaim } from "../../vmnet/rules/pool-forfeit.ts";
import type { AddressReservation } from "../../vmnet/rules/pool-plan.ts";
import { readPool } from "../../vmnet/rules/read-pool.ts";
import { hostNameOf } from "./host-name.ts";

export interface CompiledPool {
  /** namespace/name of the NetworkAttachmentDefinition; undefined: it names none. */
  readonly network: string | undefined;
  /** Undefined: nothing of it is served. */
  readonly definition: PoolDefinition | undefined;
  /** Undefined: no IPv6 of it is served. */
  readonly definitionV6: PoolDefinitionV6 | undefined;
  /** Reservations with a MAC. */
  readonly reservations: readonly BindingDefinition[];
  readonly reservationsV6: readonly BindingDefinitionV6[];
  /** For its agents, and for those of the network's other pools. */
  readonly claim: PoolClaim;
  /** Whole sentences, one for each thing that is left out. */
  readonly findings: readonly string[];
}

export function compileManagedPool(object: DeepReadonly<StoredManagedPool>): CompiledPool {
  const reading = readPool(object);
  const { network, service, issues } = reading;
  const { key: pool = "", paused: isPaused = false, reservations = [] } = service ?? {};
  return {
    network: network?.key,
    definition: isPaused ? undefined : service?.dhcp,
    definitionV6: isPaused ? undefined : service?.dhcpV6,
    reservations: reservations.flatMap((each) => reservedV4(each, pool)),
    reservationsV6: reservations.flatMap((each) => reservedV6(each, pool)),
    claim: claimOf(object, reading),
    findings: issues
      .filter(({ weight }) => weight !== "advice")
      .map(({ field, message }) => (field === "" ? message : `${field}: ${message}`)),
  };
}

function reservedV4({ address, mac, hostname }: AddressReservation, pool: string): BindingDefinition[] {
  if (mac === undefined || address.family !== 4) return [];
  const hostName = hostNameOf(hostname);
  return [{ address, pool, mac, ...(hostName !== undefined && { hostName }) }];
}

function reservedV6({ address, mac }: AddressReservation, pool: string): BindingDefinitionV6[] {
  return mac === undefined || address.family !== 6 ? [] : [{ address, pool, mac }];
}
