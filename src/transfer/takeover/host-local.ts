// host-local's records: one file per address in /var/lib/cni/networks/NETWORK, named by it; in it the container's id
// and, since version 0.7, the interface on a second line. Beside them a lock and the last address of each range.
import { tryAddress } from "../../api/holds/address-name.ts";
import type { Foreign, ForeignAllocation, LiveAddress } from "./foreign.ts";

export interface HostLocalFile {
  readonly name: string;
  readonly text: string;
}

/**
 * The pod is the one whose status has the address. Where none has, the owner is recorded by the container's id: the
 * address stays taken until somebody who can see the node says that the container is gone.
 */
export function readHostLocal(folder: string, files: readonly HostLocalFile[], live: readonly LiveAddress[]): Foreign {
  const pods = new Map(live.map((each) => [`${each.address}`, each]));
  const allocations: ForeignAllocation[] = [];
  const notes: string[] = [];
  for (const { name, text } of files) {
    if (name === "lock" || name.startsWith("last_reserved_ip.")) continue;
    // On file systems without ':' it writes '_'.
    const address = tryAddress(name) ?? tryAddress(name.replaceAll("_", ":"));
    const [containerId = "", face = ""] = text.split(/\r?\n/).map((line) => line.trim());
    const source = `${folder}/${name}`;
    if (address === undefined || containerId === "") {
      const words =
        "is no record of an address: it is passed over. Look whether something else writes into that folder.";
      notes.push(`${source} ${words}`);
      continue;
    }
    const unknown = { kind: "pod", uid: "", namespace: "", name: containerId, interface: face || "eth0" } as const;
    const owner = pods.get(`${address}`)?.owner;
    if (owner === undefined)
      notes.push(`${address}: no running pod's network status has it; it is recorded for container ${containerId}.`);
    const named = owner?.interface === "" ? { ...owner, interface: face } : owner;
    allocations.push({ address, source, owner: { ...(named ?? unknown), containerId } });
  }
  return { allocations, notes };
}
