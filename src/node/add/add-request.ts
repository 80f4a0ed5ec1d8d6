// From one ADD to its wishes: pod, owner, network selection, namespace of the pools. It reads the pod, no more.
import { holdfastGroup } from "../../api/kind.ts";
import { administers } from "../../cluster/trusted-namespaces.ts";
import type { IpamConfig } from "../../cni/config/ipam-config.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import { type AttachmentInvocation, ownerOf } from "../../cni/invocation.ts";
import { assertSelectable, firstInterface, type Selection, selectionOf } from "../../cni/selection.ts";
import { type StaticRequest, staticRequests } from "../../cni/static-request.ts";
import type { PodOwner } from "../../ipam/owner.ts";
import { type ClaimUse, statusAddresses } from "../claims/resolve/claim-binding.ts";
import type { DaemonContext } from "../context.ts";
import type { OvnAsk } from "../ovn/ovn-networks.ts";
import type { LoadedConfig } from "../request/configurations.ts";
import type { PodFacts } from "../request/pods.ts";
import type { SlicedMap } from "./range-source.ts";
import { planOf, type Share } from "./shares.ts";

const preferredAnnotation = "whereabouts.cni.cncf.io/preferred-ip";
const stickyAnnotation = `${holdfastGroup}/sticky`;
const statusAnnotation = "k8s.v1.cni.cncf.io/network-status";

export interface Asking {
  readonly shares: readonly Share[];
  readonly statics: readonly StaticRequest[];
  readonly owner: PodOwner;
  /** The object that keeps the holds after the pod: `statefulset/web`, `virtualmachineinstance/vm1`. */
  readonly keeper?: string;
  /** The claim that holds the addresses in place of the pod. */
  readonly claim?: ClaimUse;
  /** Another writer may have written a hold of this owner. */
  readonly lookFirst: boolean;
  readonly warnings: readonly string[];
}

export interface AskingInput extends Pick<
  DaemonContext,
  "nodeName" | "poolNamespace" | "cooldownMs" | "isolation" | "trusted"
> {
  readonly invocation: AttachmentInvocation;
  readonly loaded: LoadedConfig;
  /** Undefined where the API server knows no such pod: podman's container, a pod deleted meanwhile. */
  readonly pod: PodFacts | undefined;
  readonly sliced: SlicedMap;
  readonly claim?: ClaimUse | undefined;
  /** Our own plugin attaches the pod. */
  readonly attaching?: Pick<OvnAsk, "keeper" | "subnets"> | undefined;
  /** CHECK: the pod has its addresses, and the ledger says which. */
  readonly isGiven?: boolean;
}

/** Throws CniError: 4 without an owner, 7 for a wrong configuration, 101 for a network of another tenant. */
export function askingOf(input: AskingInput): Asking {
  const { invocation, loaded, pod, claim, attaching } = input;
  const { config, network } = loaded;
  const selection = pod === undefined ? undefined : selectionOf(pod, invocation.interfaceName);
  if (pod !== undefined && selection !== undefined) assertSelectable(pod, selection, input.isolation);
  const statics = staticRequests(config, {
    args: invocation.args,
    runtimeConfig: network.runtimeConfig,
    configArgs: network.args,
    ...(selection && { selection: selection.ips }),
    ...(claim && { claim: claim.requested }),
    isGiven: input.isGiven === true,
  });
  const keeper = claim === undefined ? keeperOf(config, pod) : undefined;
  const owner = ownerFor(input, keeper);
  const kept = claim === undefined ? (keeper ?? attaching?.keeper) : undefined;
  const namespace = poolNamespaceOf(input, selection);
  const shares = planOf({
    config,
    namespace,
    mayStandAlone: mayStandAlone(input, namespace, selection),
    statics: statics.requests,
    owner: claim?.owner ?? owner,
    preferred: pod?.annotations[preferredAnnotation] ?? "",
    cooldownMs: config.cooldownMs ?? input.cooldownMs,
    sliced: input.sliced,
    isSticky: keeper !== undefined || claim !== undefined,
    ...(claim !== undefined && { recorded: statusAddresses(claim.claim) }),
    ...(attaching?.subnets !== undefined && { nodeSubnets: attaching.subnets }),
  });
  return {
    shares,
    statics: statics.requests,
    owner,
    ...(kept !== undefined && { keeper: kept }),
    ...(claim !== undefined && { claim }),
    // A pod that has been on the network before may have an address of whereabouts; new pods have no status yet.
    lookFirst: claim === undefined && (keeper !== undefined || pod?.annotations[statusAnnotation] !== undefined),
    warnings: [...loaded.warnings, ...invocation.args.warnings, ...statics.warnings].map(({ message }) => message),
  };
}

/** With `pool_namespace: nad` pools are where the pod's selection says; without a definition, where all others are. */
function poolNamespaceOf({ loaded, invocation, pod, poolNamespace }: AskingInput, selection?: Selection): string {
  const { args } = invocation;
  if (loaded.config.poolNamespace === "cluster") return poolNamespace;
  if (selection !== undefined) return selection.namespace;
  if (pod !== undefined || args.podNamespace === "") return poolNamespace;
  throw new CniError(
    errorCodes.tryAgainLater,
    `the API server has no pod ${args.podNamespace}/${args.podName}, and only its annotations say whose the pools of the network ${loaded.network.name} are ` +
      "(pool_namespace is nad): make the pod anew if it was deleted.",
  );
}

/** Without a selection the first interface, and podman's, are of the node's own configuration. */
function mayStandAlone({ invocation, trusted }: AskingInput, namespace: string, selection?: Selection): boolean {
  if (selection !== undefined) return administers(selection.namespace, namespace, trusted);
  return invocation.args.podNamespace === "" || invocation.interfaceName === firstInterface;
}

/** By UID; by name where no UID lasts: a StatefulSet's pod with a sticky address, a kubelet's own pod, podman. */
function ownerFor({ invocation, pod, nodeName }: AskingInput, keeper: string | undefined): PodOwner {
  const named = ownerOf(invocation, nodeName);
  if (keeper !== undefined || pod?.isMirror === true) return { ...named, uid: "" };
  return named.uid === "" && pod !== undefined ? { ...named, uid: pod.uid } : named;
}

function keeperOf(config: IpamConfig, pod: PodFacts | undefined): string | undefined {
  if (pod?.statefulSet === undefined) return undefined;
  const isSticky = config.sticky === "statefulset" || pod.annotations[stickyAnnotation] === "true";
  return isSticky ? `statefulset/${pod.statefulSet}` : undefined;
}
