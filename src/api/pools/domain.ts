// The names of domains (src/ipam/ledger.ts): in which set of addresses a pool's addresses are unique. Where overlapping
// ranges are protected, the domain is the network_name, the empty one too: all pools of that name share it. Where they
// are not, each pool is a domain of its own. A VM network is always one. Of a sliced range each node has a domain of
// its own, in its journal, named by the NodeSlicePool: no other node gives these addresses.
import type { Domain } from "../../ipam/ledger.ts";
import { ObjectError } from "../error.ts";

type DomainParts =
  | { readonly scope: "network"; readonly network: string }
  | { readonly scope: "pool" | "vm-network" | "slice"; readonly namespace: string; readonly name: string };

export interface DomainRule {
  /** `network_name`; empty: none. */
  readonly network: string;
  /** `enable_overlapping_ranges`. */
  readonly protectsOverlaps: boolean;
  readonly pool: { readonly namespace: string; readonly name: string };
}

export function domainOfPool({ network, protectsOverlaps, pool }: DomainRule): Domain {
  return formatDomain(protectsOverlaps ? { scope: "network", network } : { scope: "pool", ...pool });
}

export function formatDomain(parts: DomainParts): Domain {
  return parts.scope === "network" ? `network:${parts.network}` : `${parts.scope}:${parts.namespace}/${parts.name}`;
}

export function parseDomain(domain: Domain): DomainParts {
  const [, scope, rest = ""] = /^(network|pool|vm-network|slice):(.*)$/.exec(domain) ?? [];
  if (scope === "network") return { scope, network: rest };
  const [namespace, name, ...more] = rest.split("/");
  if ((scope === "pool" || scope === "vm-network" || scope === "slice") && namespace && name && more.length === 0)
    return { scope, namespace, name };
  const words = `${JSON.stringify(domain)} is no domain: it is network:NAME, pool:NAMESPACE/NAME, slice:NAMESPACE/NAME or vm-network:NAMESPACE/NAME.`;
  throw new ObjectError("bad-domain", words);
}

/** Of one pool: its addresses may be those of others of the network. */
export function isPoolDomain(domain: Domain): boolean {
  return domain.startsWith("pool:");
}

/** Of a node's slices: the same name on two nodes is two domains. */
export function isSliceDomain(domain: Domain): boolean {
  return domain.startsWith("slice:");
}
