// What the fence asks the API server, each time anew: it is for an informer that stood still through an outage.
import { coolingOf } from "../../../api/holds/hold-marks.ts";
import { isPodOf } from "../../../api/holds/pod-uid.ts";
import { hasEnded, ipamClaims, type Pod, pods } from "../../../cluster/resources.ts";
import type { Attachment } from "../../../cni/attachments.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import type { DeepReadonly } from "../../../kube/meta.ts";
import type { KubeClient } from "../../../kube/rest.ts";
import { readObject, readRecord, recordsOf } from "../../../ledger/reservation/records.ts";
import { parseAddress } from "../../../net/address.ts";
import type { HoldPlace, ObjectName } from "../../holds/sandboxes.ts";

export interface FenceFacts {
  /** Without a UID: any pod of the name. Throws the client's error where the API server does not answer. */
  pod(name: ObjectName, signal: AbortSignal): Promise<PodState>;
  /** Undefined where nobody holds the address. */
  hold(place: HoldPlace, signal: AbortSignal): Promise<Hold | undefined>;
}

/** The claim of this UID is gone, as the API server says now. */
export async function isClaimGone(client: KubeClient, claim: ObjectName, signal: AbortSignal): Promise<boolean> {
  const { namespace, name, uid } = claim;
  return (await client.lookUp(ipamClaims, { namespace, name }, { signal }))?.metadata.uid !== uid;
}

export function serverFacts(client: KubeClient): FenceFacts {
  return {
    async pod({ namespace, name, uid }, signal) {
      const found = await client.lookUp(pods, { namespace, name }, { signal });
      return found === undefined ? "gone" : podState(found, uid);
    },
    async hold({ namespace, domain, address: text }, signal) {
      const records = recordsOf(domain, namespace);
      const address = parseAddress(text);
      const object = await readObject(client, records, records.nameOf(address), signal);
      if (object === undefined || coolingOf(object.metadata) !== undefined) return undefined;
      return readRecord(records, address, object);
    },
  };
}

export function podState(pod: DeepReadonly<Pod>, uid: string): PodState {
  if (!isPodOf(pod.metadata, uid)) return "gone";
  return hasEnded(pod) ? "over" : "alive";
}

/** `over`: it has ended, or its object says so. */
export type PodState = "alive" | "over" | "gone";

export interface SandboxFacts {
  /** Its namespace exists, and is the same. */
  readonly isThere: boolean;
  readonly pod: PodState;
  /** It was over at the last look too: a healthy kubelet tears a sandbox down within seconds. */
  readonly wasOver: boolean;
  /** Another pod uses one of its addresses, and lives. */
  readonly isUsedElsewhere: boolean;
}

export type SandboxVerdict = "forget" | "keep" | "wait" | "fence";

/** Promised: a sandbox whose pod is alive is never touched, nor one whose addresses no other living pod uses. */
export function judgeSandbox({ isThere, pod, wasOver, isUsedElsewhere }: SandboxFacts): SandboxVerdict {
  if (!isThere) return "forget";
  if (pod === "alive") return "keep";
  if (!isUsedElsewhere) return "wait";
  return pod === "gone" || wasOver ? "fence" : "wait";
}

/** Users of the claim, or the pod that holds it itself. An unreadable user has no name to ask for: left out. */
export function othersAt({ owner, users = [] }: Hold, own: ObjectName): ObjectName[] {
  const { namespace } = owner;
  const all = owner.kind === "pod" ? [{ namespace, name: owner.name, uid: owner.uid }] : users;
  return all
    .filter(({ name, uid }) => name !== "" && (uid === "" ? name !== own.name : uid !== own.uid))
    .map(({ name, uid }) => ({ namespace, name, uid }));
}

const kubevirtPrefix = "pod";

/** Interfaces with traffic: KubeVirt's bridge binding names the cable without `pod`, with `-nic` (15 bytes). */
export function linksOf({ interfaceName }: Attachment): readonly string[] {
  const stem = interfaceName.startsWith(kubevirtPrefix) ? interfaceName.slice(kubevirtPrefix.length) : interfaceName;
  return [`${stem}-nic`, interfaceName];
}
