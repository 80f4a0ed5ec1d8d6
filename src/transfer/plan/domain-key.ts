// The domain of an address as a migration must tell it: the ledger's domain, and the namespace of its objects, since with
// `pool_namespace: nad` one network name is one domain in each namespace.
import { formatDomain } from "../../api/pools/domain.ts";

export type DomainKey = string;

export function networkDomain(namespace: string, network: string): DomainKey {
  return `${namespace} ${formatDomain({ scope: "network", network })}`;
}

/** For people. */
export function describeDomain(key: DomainKey): string {
  const [namespace, domain = ""] = key.split(" ");
  const name = domain.slice(domain.indexOf(":") + 1);
  return name === "" ? `the unnamed network in namespace ${namespace}` : `network ${name} in namespace ${namespace}`;
}
