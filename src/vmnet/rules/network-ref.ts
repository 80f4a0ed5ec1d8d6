// The network that a pool or a NIC names: namespace/name of a NetworkAttachmentDefinition. A name alone is looked for
// in `default`, as Harvester's webhook does.
import { isLegalName } from "../../api/name.ts";
import { formatDomain } from "../../api/pools/domain.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { show } from "./fields.ts";
import type { Issues } from "./issue.ts";

const namespaceOfBareNames = "default";

export interface NetworkRef {
  readonly namespace: string;
  readonly name: string;
  /** namespace/name */
  readonly key: string;
  /** In which the addresses of its VMs are unique. */
  readonly domain: Domain;
}

/** namespace/name -> the value that all who name it share: 100,000 NICs of one network are one. Values never change. */
const known = new Map<string, NetworkRef>();
/** About 400 bytes each. Tenants choose names: when they are too many, all are forgotten and made anew. */
const knownMax = 5000;

export function networkRef(namespace: string, name: string): NetworkRef {
  const key = `${namespace}/${name}`;
  const shared = known.get(key);
  if (shared !== undefined) return shared;
  const made = { namespace, name, key, domain: formatDomain({ scope: "vm-network", namespace, name }) };
  if (known.size >= knownMax) known.clear();
  known.set(key, Object.freeze(made));
  return made;
}

/** Undefined: it names none, and an error says so. */
export function readNetworkRef(text: string | undefined, field: string, issues: Issues): NetworkRef | undefined {
  if (text === undefined) {
    issues.error("missing", field, "it is missing; write namespace/name of the NetworkAttachmentDefinition.");
    return undefined;
  }
  const parts = text.split("/");
  const [namespace, name] = parts.length === 1 ? [namespaceOfBareNames, parts[0]!] : [parts[0]!, parts[1]!];
  // A namespace is a label: it has no dot.
  if (parts.length > 2 || !isLegalName(name) || !isLegalName(namespace) || namespace.includes(".")) {
    issues.error("bad-network-name", field, `${show(text)} is no network; write namespace/name.`);
    return undefined;
  }
  if (parts.length === 1) {
    const message = `${show(text)} has no namespace and is read as ${namespace}/${name}; write that.`;
    issues.tolerate("bad-network-name", field, message);
  }
  return networkRef(namespace, name);
}
