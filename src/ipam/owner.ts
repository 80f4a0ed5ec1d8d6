// Who an address belongs to. One address has one owner at any instant, and the owner's UID tells it from its namesakes.

/** One interface of one pod. */
export interface PodOwner {
  readonly kind: "pod";
  /** Empty only where an older system recorded none: then namespace and name stand in for it. */
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly interface: string;
  /**
   * Which of several addresses of one interface, where its ranges overlap: 0 or absent for the first. Disjoint ranges
   * need none, since the address tells its range.
   */
  readonly part?: number;
  /** The sandbox that uses it now. A later sandbox of the same pod is the same owner. */
  readonly containerId?: string;
}

/** A persistent claim (IPAMClaim): the address outlives the pods that use it. */
export interface ClaimOwner {
  readonly kind: "claim";
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** As with a pod's: which of several addresses, where ranges overlap. */
  readonly part?: number;
}

/** One NIC of one virtual machine, on a network with managed DHCP. */
interface NicOwner {
  readonly kind: "nic";
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly nic: string;
}

export type Owner = PodOwner | ClaimOwner | NicOwner;

/** Identifies an owner: equal for the same owner, different for any two others. */
export type OwnerKey = string & { readonly brand: "OwnerKey" };

/**
 * Injective because none of the parts can contain its separator: a UID has neither `:` nor `/`, a namespace and a name
 * have neither, an interface name has neither (the kernel refuses both).
 */
export function ownerKey(owner: Owner): OwnerKey {
  const identity = owner.uid === "" ? `${owner.namespace}/${owner.name}` : owner.uid;
  return `${owner.kind}:${identity}:${portOf(owner)}` as OwnerKey;
}

/** `ownerKey(a) === ownerKey(b)`, without making the keys. */
export function sameOwner(a: Owner, b: Owner): boolean {
  if (a.kind !== b.kind || a.uid !== b.uid || portOf(a) !== portOf(b)) return false;
  return a.uid !== "" || (a.namespace === b.namespace && a.name === b.name);
}

/** The key of this pod's interface in the records of systems without UIDs; undefined: there is no other key. */
export function formerKey(owner: Owner): OwnerKey | undefined {
  return owner.kind === "pod" && owner.uid !== "" ? ownerKey({ ...owner, uid: "" }) : undefined;
}

/**
 * The record lacks the UID and is otherwise this owner's: two pods of one name do not exist at once, so it is the
 * asker's, or that of a namesake that is gone. Not the other way round: an asker without a UID is nobody's successor.
 */
export function succeeds(asking: Owner, recorded: Owner): boolean {
  return recorded.kind === "pod" && recorded.uid === "" && formerKey(asking) === ownerKey(recorded);
}

/** Used by the same sandbox, or both by none. */
export function sameContainer(a: Owner, b: Owner): boolean {
  return containerOf(a) === containerOf(b);
}

/** As nobody's sandbox uses it. */
export function unused(owner: Owner): Owner {
  if (owner.kind !== "pod") return owner;
  const { containerId: _, ...rest } = owner;
  return rest;
}

/** The same for a later object of the same name: what sticky allocation goes by. */
export function stableName(owner: Owner): string {
  return `${owner.namespace}/${owner.name}/${portOf(owner)}`;
}

/** For people: `pod default/web-0 (eth0)`. */
export function describeOwner(owner: Owner): string {
  const port = portOf(owner);
  // A runtime without pods (podman) names a container alone.
  const kind = owner.kind === "nic" ? "VM" : owner.kind;
  const who = owner.namespace === "" ? `container ${owner.name}` : `${kind} ${owner.namespace}/${owner.name}`;
  return `${who}${port === "" ? "" : ` (${port})`}`;
}

/** Injective: the kernel refuses an interface name with a ":". */
function portOf(owner: Owner): string {
  switch (owner.kind) {
    case "pod":
      return owner.part === undefined || owner.part === 0 ? owner.interface : `${owner.interface}:${owner.part}`;
    case "nic":
      return owner.nic;
    case "claim":
      return owner.part === undefined || owner.part === 0 ? "" : `:${owner.part}`;
  }
}

function containerOf(owner: Owner): string | undefined {
  return owner.kind === "pod" ? owner.containerId : undefined;
}
