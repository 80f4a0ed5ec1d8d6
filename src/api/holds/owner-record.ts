// An owner as the records of whereabouts have it (podref, ifname, a container id) and as ours add to it (kind, uid).
import type { Owner, OwnerKey } from "../../ipam/owner.ts";
import { hashText } from "../../ipam/slot-index.ts";
import { holdfastGroup } from "../kind.ts";

interface OwnerRecord {
  readonly kind: Owner["kind"];
  /** Empty: not recorded. */
  readonly uid: string;
  /** namespace/name */
  readonly podref: string;
  /** The interface or the NIC; empty for a claim. */
  readonly port: string;
  /** Empty: not recorded. */
  readonly containerId: string;
  /** Which of several addresses of one interface or claim; absent: the first. */
  readonly part?: number;
}

export function ownerRecord(owner: Owner): OwnerRecord {
  const { kind, uid } = owner;
  const podref = `${owner.namespace}/${owner.name}`;
  switch (owner.kind) {
    case "pod":
      return { kind, uid, podref, port: owner.interface, containerId: owner.containerId ?? "" };
    case "nic":
      return { kind, uid, podref, port: owner.nic, containerId: "" };
    case "claim":
      return { kind, uid, podref, port: "", containerId: "" };
  }
}

/** A podref without a slash is a name without a namespace: whoever it was, the address is not free. */
export function ownerOfRecord({ kind, uid, podref, port, containerId, part = 0 }: OwnerRecord): Owner {
  const slash = podref.indexOf("/");
  const parted = part > 0 ? { part } : {};
  const named = { uid, namespace: podref.slice(0, Math.max(slash, 0)), name: podref.slice(slash + 1) };
  switch (kind) {
    case "pod":
      return { kind, ...named, interface: port, ...parted, ...(containerId !== "" && { containerId }) };
    case "nic":
      return { kind, ...named, nic: port };
    case "claim":
      return { kind, ...named, ...parted };
  }
}

/** The label by which an owner's records are found without reading all of them. */
export const ownerLabelName = `${holdfastGroup}/owner`;

const seeds = [0x811c9dc5, 0x2f0b4c47];

/** 64 bits of a hash: a label holds 63 characters, an owner's key has more. It narrows a search; the key decides. */
export function ownerLabel(key: OwnerKey): string {
  return hashLabel(key);
}

/** 16 hexadecimal digits, the same in every release. */
export function hashLabel(text: string): string {
  return seeds.map((seed) => (hashText(text, seed) >>> 0).toString(16).padStart(8, "0")).join("");
}
