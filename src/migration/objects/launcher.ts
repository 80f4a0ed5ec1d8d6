// A virt-launcher pod as a value: all that decides where its VM is. Parsed once, here. Pure.
//
// KubeVirt says that a guest runs in a pod in two ways: by the annotation on a migration's target as soon as the guest
// runs there, and by the label kubevirt.io/nodeName, which names the SOURCE's node until the migration is over.
import {
  createdByLabelName,
  domainAnnotationName,
  launcherLabelName,
  launcherValue,
  migratableAnnotationName,
  migrationLabelName,
} from "../../api/claims/kubevirt.ts";
import { type FoundNetwork, podNetworksAnnotation, readPodNetwork } from "../../cluster/pod-network.ts";
import type { Pod } from "../../cluster/resources.ts";
import type { DeepReadonly } from "../../kube/meta.ts";

/** What KubeVirt writes, and what the design of 2024 calls it. */
const readyAnnotations = [
  "kubevirt.io/migration-target-ready-timestamp",
  "kubevirt.io/migration-target-start-timestamp",
] as const;
const nodeNameLabel = "kubevirt.io/nodeName";
/** Of older pods the VM's name: its host name in truth, cut. */
const nameLabel = "vm.kubevirt.io/name";
const labelMax = 63;
/** Ours: when the node's daemon saw the guest send from this pod, and what: `2026-11-18T20:00:00.125Z rarp`. */
export const guestSeenAnnotation = "holdfast.io/guest-seen";
/** Ours, on a target: since when its VM has the address. The pod that had it first goes after some migrations. */
export const addressSinceAnnotation = "holdfast.io/address-since";

/** Ours: what is on record of the migration whose target the pod is. */
export const receiptAnnotation = "holdfast.io/migration-receipt";

/** All that is read of a pod's labels and annotations. */
export const readLabels = [
  launcherLabelName,
  createdByLabelName,
  nodeNameLabel,
  migrationLabelName,
  nameLabel,
] as const;
export const readAnnotations = [
  ...readyAnnotations,
  migratableAnnotationName,
  domainAnnotationName,
  guestSeenAnnotation,
  addressSinceAnnotation,
  receiptAnnotation,
  podNetworksAnnotation,
] as const;

/** What was seen: QEMU's announcement when a guest goes on elsewhere, or any frame of the guest's. */
type SignKind = "rarp" | "frame";

interface FrameSign {
  readonly kind: SignKind;
  /** By the clock of the node that saw it. */
  readonly seenMs: number;
}

export interface Launcher {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The VM's name; where only a label says it, what is left of it. */
  readonly vm: string;
  /** `vm` may be the beginning of a longer name. */
  readonly isCut: boolean;
  /** UID of the VMI: a VM that is stopped and started has another. Empty where nothing says it. */
  readonly instance: string;
  /** Empty: not bound yet. */
  readonly node: string;
  readonly phase: "pending" | "running" | "succeeded" | "failed";
  readonly createdMs: number;
  readonly isDeleting: boolean;
  /** Made for a migration. */
  readonly isTarget: boolean;
  /** By KubeVirt's word the guest runs here, or did; undefined: not said. */
  readonly ready: "node-label" | "ready-timestamp" | undefined;
  /** When, where the annotation says it. */
  readonly readyMs: number | undefined;
  readonly sign: FrameSign | undefined;
  readonly network: FoundNetwork | undefined;
  /** Since when the VM has the address, as far as this pod says it. */
  readonly sinceMs: number;
  /** The migration that it was the target of is over, and on record. */
  readonly isRecorded: boolean;
}

/** Undefined: none, or none whose address moves with a VM (no annotation, the host's network). */
export function readLauncher({ metadata, spec, status }: DeepReadonly<Pod>): Launcher | undefined {
  const { namespace = "", name = "", uid = "", labels = {}, annotations = {}, creationTimestamp = "" } = metadata;
  if (labels[launcherLabelName] !== launcherValue || spec?.hostNetwork === true) return undefined;
  if (annotations[migratableAnnotationName] === undefined) return undefined;
  const domain = annotations[domainAnnotationName] ?? "";
  const vm = domain === "" ? (labels[nameLabel] ?? "") : domain;
  if (vm === "") return undefined;
  const node = spec?.nodeName ?? "";
  const ready = readyAnnotations.map((each) => annotations[each] ?? "").find((text) => text !== "");
  const createdMs = Date.parse(creationTimestamp) || 0;
  const isNamed = node !== "" && labels[nodeNameLabel] === node;
  return {
    namespace,
    name,
    uid,
    vm,
    isCut: domain === "" && vm.length === labelMax,
    instance: labels[createdByLabelName] ?? "",
    node,
    phase: phaseOf(status?.phase),
    createdMs,
    isDeleting: metadata.deletionTimestamp !== undefined,
    isTarget: labels[migrationLabelName] !== undefined,
    ready: ready !== undefined ? "ready-timestamp" : isNamed ? "node-label" : undefined,
    readyMs: timeOf(ready),
    sign: signOf(annotations[guestSeenAnnotation]),
    network: readPodNetwork(annotations[podNetworksAnnotation]),
    sinceMs: Math.min(createdMs, timeOf(annotations[addressSinceAnnotation]) ?? createdMs),
    isRecorded: annotations[receiptAnnotation] !== undefined,
  };
}

export function isLiving({ phase }: Launcher): boolean {
  return phase === "pending" || phase === "running";
}

/**
 * Older first. By creation, which is told in whole seconds; of the same second a migration's target is the newer, and
 * what is left is decided by UID, so that everybody decides alike.
 */
export function compareAge(a: Launcher, b: Launcher): number {
  return a.createdMs - b.createdMs || Number(a.isTarget) - Number(b.isTarget) || compareText(a.uid, b.uid);
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** What two VMs whose pods may be one VM's have in common. */
export function nameStem(vm: string): string {
  return vm.slice(0, labelMax);
}

/** A node that does not answer leaves its pods Unknown: they run, for all that is known. */
function phaseOf(phase = "Pending"): Launcher["phase"] {
  if (phase === "Succeeded") return "succeeded";
  if (phase === "Failed") return "failed";
  return phase === "Pending" ? "pending" : "running";
}

/** Go's text of a time, which KubeVirt writes, or RFC 3339. */
function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const go = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,9})?) ([+-]\d\d)(\d\d)/.exec(text);
  const ms = Date.parse(go === null ? text : `${go[1]}T${go[2]}${go[3]}:${go[4]}`);
  return Number.isNaN(ms) ? undefined : ms;
}

function signOf(text: string | undefined): FrameSign | undefined {
  const [time = "", kind] = (text ?? "").split(" ");
  const seenMs = Date.parse(time);
  if (Number.isNaN(seenMs) || (kind !== "rarp" && kind !== "frame")) return undefined;
  return { kind, seenMs };
}
