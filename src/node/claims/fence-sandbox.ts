// What the fence does about a sandbox of this node that was given a claim's addresses. Pure.
//
// Promised: a sandbox whose pod is alive is never touched, nor one whose addresses no other living pod uses.
import type { Attachment } from "../../cni/attachments.ts";
import type { Hold } from "../../ipam/ledger.ts";
import type { ObjectName } from "../sandboxes.ts";

/** `over`: it has ended, or its object says so. */
export type PodState = "alive" | "over" | "gone";

export interface SandboxFacts {
  /** Its namespace is there, and the same. */
  readonly isThere: boolean;
  readonly pod: PodState;
  /** It was over at the look before this one: a kubelet that is well tears a sandbox down within seconds. */
  readonly wasOver: boolean;
  /** Another pod uses one of its addresses, and lives. */
  readonly isUsedElsewhere: boolean;
}

export type SandboxVerdict = "forget" | "keep" | "wait" | "fence";

export function judgeSandbox({ isThere, pod, wasOver, isUsedElsewhere }: SandboxFacts): SandboxVerdict {
  if (!isThere) return "forget";
  if (pod === "alive") return "keep";
  if (!isUsedElsewhere) return "wait";
  return pod === "gone" || wasOver ? "fence" : "wait";
}

/**
 * Who may be at the address beside the sandbox's own pod: the users of the claim that has it, and the pod that has it where it is no claim's any more.
 * A user who cannot be read has no name and can be asked for by nobody: it is left out.
 */
export function othersAt({ owner, users = [] }: Hold, own: ObjectName): ObjectName[] {
  const { namespace } = owner;
  const all = owner.kind === "pod" ? [{ namespace, name: owner.name, uid: owner.uid }] : users;
  return all
    .filter(({ name, uid }) => name !== "" && (uid === "" ? name !== own.name : uid !== own.uid))
    .map(({ name, uid }) => ({ namespace, name, uid }));
}

const kubevirtPrefix = "pod";

/**
 * The interfaces that carry the address's traffic. With KubeVirt's bridge binding the name that the plugin gave is a dummy's, and the cable has
 * the name without `pod` and with `-nic` (15 bytes are all that a name may have).
 */
export function linksOf({ interfaceName }: Attachment): readonly string[] {
  const stem = interfaceName.startsWith(kubevirtPrefix) ? interfaceName.slice(kubevirtPrefix.length) : interfaceName;
  return [`${stem}-nic`, interfaceName];
}
