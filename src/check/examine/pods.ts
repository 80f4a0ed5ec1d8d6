// Running pods against holds: every address that a pod says it uses on a network of ours must be its own. Pure.
import { mirrorAnnotation } from "../../api/holds/pod-uid.ts";
import { type InterfaceStatus, readNetworkStatus, statusAnnotation } from "../../api/network-status.ts";
import { markedDomain } from "../../api/pools/pool-domain.ts";
import { hasEnded, type Pod } from "../../cluster/resources.ts";
import type { SlicedRanges } from "../../cluster/sliced-ranges.ts";
import type { Hold } from "../../ipam/ledger.ts";
import { describeOwner, type PodOwner } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";
import { contains } from "../../net/prefix.ts";
import { isOwners } from "../../pools/leaks/judge.ts";
import { podFactsOf } from "../../pools/leaks/live-facts.ts";
import { domainOfUse, type NetworkUse } from "../../pools/networks.ts";
import { describeHeld, type PoolHold } from "../../pools/pool-hold.ts";
import { type Finding, finding } from "../finding.ts";
import type { Snapshot } from "../snapshot.ts";

export function examinePods(snapshot: Snapshot): Finding[] {
  const held = byPlace(snapshot.held);
  const uses = Map.groupBy(snapshot.networks.uses, ({ definition }) => definition);
  return usedAddresses(snapshot.pods.values()).flatMap(
    (used) => judgeAddress(snapshot, held, used, uses.get(used.definition) ?? []) ?? [],
  );
}

export interface UsedAddress {
  readonly pod: Pod;
  /** namespace/name */
  readonly definition: string;
  readonly address: Address;
  /** As whom the pod would hold it. */
  readonly owner: PodOwner;
  /** The beginning of a sentence. */
  readonly words: string;
}

export function usedAddresses(pods: Iterable<Pod>): UsedAddress[] {
  return [...pods].filter(isAlive).flatMap((pod) =>
    (readNetworkStatus(statusAnnotation(pod.metadata.annotations)) ?? []).flatMap((status) =>
      status.addresses.map((address) => {
        const owner = ownerOf(pod, status);
        const words = `${describeOwner(owner)} uses ${address} of ${status.network}`;
        return { pod, definition: definitionOf(status, pod), address, owner, words };
      }),
    ),
  );
}

/** Namespace, domain and address -> its hold, and cooling ones beside it. */
function byPlace(all: readonly PoolHold[]): Map<string, PoolHold> {
  const held = all.filter(({ cooling }) => cooling === undefined);
  return new Map(held.map((each) => [placeOf(each.namespace, each.hold), each]));
}

function placeOf(namespace: string, { domain, address }: { domain: string; address: Address }): string {
  return `${namespace} ${domain} ${address}`;
}

function isAlive(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && !hasEnded(pod);
}

/** A name without a namespace is one of the pod's own namespace. */
function definitionOf({ network }: InterfaceStatus, { metadata }: Pod): string {
  return network.includes("/") ? network : `${metadata.namespace}/${network}`;
}

function judgeAddress(
  snapshot: Snapshot,
  holds: ReadonlyMap<string, PoolHold>,
  { pod, address, owner, words }: UsedAddress,
  uses: readonly NetworkUse[],
): Finding | undefined {
  const use = uses.find(({ range }) => contains(range.prefix, address));
  // A slice of its node has it, although the definition does not say so: mirrors.ts.
  if (use === undefined || isSliced(snapshot.slices.sliced, use, address)) return undefined;
  const pool = snapshot.pools.find(({ range }) => range.namespace === use.namespace && use.names.includes(range.name));
  const domain = domainOfUse(use, pool?.range.name, pool && markedDomain(pool.pool));
  // Refused there: the pod's address was given before, in the domain that the pool says.
  if (domain === undefined) return undefined;
  const held = holds.get(placeOf(use.namespace, { domain, address }));
  const object = `Pod ${pod.metadata.namespace}/${pod.metadata.name}`;
  if (held === undefined) {
    const note = { why: "re-added by holdfast check: the pod uses it", ...(pool && { pool: pool.range.key }) };
    return finding("not-held", "error", [object], {
      message: `${words}, and nobody holds it: it may be given to another.`,
      remedy: "holdfast check --repair holds it for the pod.",
      repair: {
        kind: "take",
        namespace: use.namespace,
        node: pod.spec?.nodeName ?? "",
        request: { domain, address, owner, note },
      },
    });
  }
  if (isSamePod(held.hold, pod)) return undefined;
  return finding("held-by-another", "error", [object, describeHeld(held)], {
    message: `${words}, and ${describeOwner(held.hold.owner)} holds it: two may use one address.`,
    remedy:
      held.hold.owner.kind === "claim"
        ? "Delete the pod: its successor asks for the claim's address, or gets one of its own."
        : "Delete one of the two pods; its successor gets another address.",
  });
}

/** A kubelet's own pod goes by its name alone, as daemons record it: the API knows it under another UID. */
function ownerOf({ metadata }: Pod, status: InterfaceStatus): PodOwner {
  const { namespace = "", name = "", annotations } = metadata;
  const uid = annotations?.[mirrorAnnotation] === undefined ? (metadata.uid ?? "") : "";
  return { kind: "pod", uid, namespace, name, interface: status.interface };
}

/** Of a claim: the pod is a user, or they cannot be read. Of a NIC: its own reconciler judges. */
export function isSamePod({ owner, note, users = [] }: Pick<Hold, "owner" | "note" | "users">, pod: Pod): boolean {
  const { metadata } = pod;
  if (owner.kind === "nic") return true;
  if (owner.kind === "claim") {
    return users.some(({ uid }) => uid === "" || (uid === metadata.uid && owner.namespace === metadata.namespace));
  }
  const isNamed = owner.namespace === metadata.namespace && owner.name === metadata.name;
  return isNamed && (isOwners(podFactsOf(pod), owner) || note?.keeper !== undefined);
}

/** As the leader tells the daemons: not what floats, nor what is shared again. */
export function isSliced({ ranges }: SlicedRanges, { namespace, identity }: NetworkUse, address: Address): boolean {
  return ranges.some(
    (each) =>
      each.namespace === namespace &&
      each.network === identity.network &&
      contains(each.range, address) &&
      !(each.floating !== undefined && contains(each.floating, address)) &&
      (each.phase !== "opening" || each.blocks.some((block) => contains(block, address))),
  );
}
