// Which pods have an address, or may have it any moment. Pure. Errs on the side of "has it": an address that is kept
// too long is a nuisance, one that is freed under a guest is worse.
import { hashedInterfaceName } from "../../api/claims/kubevirt.ts";
import type { HoldUser } from "../../ipam/ledger.ts";
import type { LauncherNic, LauncherPod } from "./facts.ts";
import type { ClaimView, Family, LooseHold } from "./family.ts";
import { type Life, isStillInGuest } from "./owners.ts";

/** What a pod may be attached to: a claim, or a hold that its claim left. */
export interface AttachmentTarget {
  readonly claim: string;
  readonly nic: string;
  /** Empty: not known. */
  readonly networks: readonly string[];
  readonly life: Life | undefined;
  /** No owner: only pods that name it, or have its address, have to do with it. */
  readonly isByHand: boolean;
  readonly users: readonly HoldUser[];
}

export function targetOf({ name, nic, network, life, kind, holds }: ClaimView): AttachmentTarget {
  const users = holds.flatMap(({ hold }) => hold.users ?? []);
  const networks = network === "" ? [] : [network];
  return { claim: name, nic, networks, life, isByHand: kind === "by-hand", users };
}

export function looseTarget({ hold, nic, identity, life }: LooseHold): AttachmentTarget {
  const { owner, users = [] } = hold.hold;
  return { claim: owner.name, nic, networks: hold.networks, life, isByHand: identity === "", users };
}

/** Pods that live and have it, or are about to. */
export function attachedPods(target: AttachmentTarget, family: Family): readonly LauncherPod[] {
  return family.facts.pods.filter((pod) => !pod.isOver && isAttached(pod, target, family));
}

/** Those of them that are on the list of an address of the claim. */
export function listedPods(view: ClaimView, family: Family): readonly LauncherPod[] {
  const target = targetOf(view);
  const listed = new Set(target.users.map(({ uid }) => uid));
  return attachedPods(target, family).filter(({ uid }) => listed.has(uid));
}

/** Also where a user's pod is not among those of the family. */
export function isInUse(target: AttachmentTarget, family: Family): boolean {
  return attachedPods(target, family).length > 0 || target.users.some((user) => mayLive(user, family));
}

function mayLive(user: HoldUser, { facts }: Family): boolean {
  if (facts.pods.some(({ uid }) => uid === user.uid)) return false; // judged as a pod
  const state = facts.userOf(user);
  return state === "alive" || state === "unknown";
}

function isAttached(pod: LauncherPod, target: AttachmentTarget, family: Family): boolean {
  if (target.users.some(({ uid }) => uid === pod.uid)) return !isDetached(pod, target, family);
  if (target.isByHand) return pod.nics.some(({ claim }) => claim === target.claim);
  return isOfItsOwner(pod, target, family) && touches(pod, target, family);
}

/** The guest has given the NIC back: neither the pod nor the VMI knows it any more. */
export function isDetached(pod: LauncherPod, target: AttachmentTarget, family: Family): boolean {
  const { life, nic } = target;
  if (!pod.hasStatus) return false;
  if (life === undefined || nic === "" || life.vmi?.metadata.uid !== pod.vmiUid || pod.vmiUid === "") return false;
  return !touches(pod, target, family) && !isStillInGuest(life, nic);
}

/** A pod whose VMI is gone may be of any owner of this name, dead ones too. One of another living VM is not. */
function isOfItsOwner({ vmiUid }: LauncherPod, { life }: AttachmentTarget, { facts, lives }: Family): boolean {
  if (vmiUid === "") return false;
  if (vmiUid !== facts.vmi?.metadata.uid) return !facts.lives(vmiUid);
  return lives.find(({ vmi }) => vmi !== undefined) === life;
}

function touches(pod: LauncherPod, target: AttachmentTarget, family: Family): boolean {
  return pod.problem !== undefined || pod.nics.some((nic) => isOfNic(nic, target) && isOnNetwork(nic, target, family));
}

const ordinal = /^net\d+$/;

function isOfNic({ nic, interfaceName, claim }: LauncherNic, target: AttachmentTarget): boolean {
  if (claim !== undefined) return claim === target.claim;
  if (nic !== undefined) return nic === target.nic;
  // A NIC that left the VM's spec is known by the hash in its name; one with an ordinal name may be any.
  return interfaceName === hashedInterfaceName(target.nic) || ordinal.test(interfaceName);
}

/** Only a definition that is known to be of another network tells them apart. */
function isOnNetwork({ definition }: LauncherNic, { networks }: AttachmentTarget, { facts }: Family): boolean {
  if (definition === undefined || networks.length === 0) return true;
  const found = facts.definitionOf(definition);
  return typeof found === "string" || found.network === "" || networks.includes(found.network);
}
