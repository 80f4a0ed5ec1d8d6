// Whether the kernel takes routes and addresses from whoever advertises a router on an interface (ip-sysctl of Linux,
// `accept_ra`). It does by default, and only who may write to /proc/sys can turn that off.
import { readFileSync } from "node:fs";

/** Of the namespace that the calling thread is in. False where the kernel has no IPv6 there, or does not say. */
export function acceptsRouters(interfaceName: string, read = readSetting): boolean {
  const accepts = read(interfaceName, "accept_ra");
  // 1: unless it forwards; 2: always.
  return accepts === 2 || (accepts === 1 && read(interfaceName, "forwarding") !== 1);
}

function readSetting(interfaceName: string, setting: "accept_ra" | "forwarding"): number {
  try {
    return Number(readFileSync(`/proc/sys/net/ipv6/conf/${interfaceName}/${setting}`, "utf8"));
  } catch {
    return 0; // no IPv6 there, or the interface has just gone
  }
}
