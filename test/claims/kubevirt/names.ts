// KubeVirt's names for interfaces in a launcher pod. Read anew from what was seen, not from the code under test.
import { createHash } from "node:crypto";

export type Scheme = "hashed" | "ordinal";

/** observed: section 2. The name of the network in the VM, and nothing else, goes into it. */
function hashed(network: string): string {
  return `pod${createHash("sha256").update(network, "utf8").digest("hex").slice(0, 11)}`;
}

/** observed: section 2. `position` counts from 0 among the secondary networks. */
export function interfaceNameOf(network: string, position: number, scheme: Scheme): string {
  return scheme === "hashed" ? hashed(network) : `net${position + 1}`;
}

export function isHashedName(interfaceName: string): boolean {
  return /^pod[0-9a-f]{11}$/.test(interfaceName);
}
