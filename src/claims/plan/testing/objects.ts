// A small cluster's objects in memory, with the API server's promises: versions, finalizers, UIDs that never return.
import type { KubevirtMetadata, VirtualMachine, VirtualMachineInstance } from "../../../api/claims/kubevirt.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import type { MetadataPatch } from "../steps.ts";

export interface PodNic {
  readonly nic: string;
  readonly interfaceName: string;
  readonly definition: string;
  readonly claim?: string;
}

/** A pod, and what runs of it: the two end at different times. */
export interface ModelPod {
  readonly metadata: KubevirtMetadata;
  readonly node: string;
  readonly vmiUid: string;
  readonly isOver: boolean;
  /** From the networks annotation, and from network-status. */
  readonly listed: readonly PodNic[];
  readonly status: readonly PodNic[];
  /** What it was made with. */
  readonly initial?: readonly PodNic[];
  /** All that it was made with has been set up once. */
  readonly hasStatus?: boolean;
  readonly problem?: string;
}

export type ModelVm = VirtualMachine;
export type ModelVmi = VirtualMachineInstance;

interface Stored {
  readonly metadata: KubevirtMetadata;
}

/** One kind. Objects are replaced, never changed: a snapshot is a copy of the map. */
export class Shelf<T extends Stored> {
  /** name -> object */
  objects = new Map<string, T>();
  readonly #next: (what: string) => string;
  readonly #prefix: string;

  constructor(prefix: string, next: (what: string) => string) {
    this.#prefix = prefix;
    this.#next = next;
  }

  get(name: string): T | undefined {
    return this.objects.get(name);
  }

  byUid(uid: string | undefined): T | undefined {
    return [...this.objects.values()].find(({ metadata }) => metadata.uid === uid);
  }

  /** Undefined: the name is taken. */
  create(object: T): T | undefined {
    const { name = "" } = object.metadata;
    if (this.objects.has(name)) return undefined;
    const uid = this.#next(this.#prefix);
    const created = { ...object, metadata: { ...object.metadata, uid, resourceVersion: this.#next("rv") } };
    this.objects.set(name, created);
    return created;
  }

  /** Guarded by UID; where `resourceVersion` is given, by that too. False: it was not done. */
  update(object: T, change: (now: T) => T, resourceVersion?: string): boolean {
    const { name = "", uid } = object.metadata;
    const now = this.objects.get(name);
    if (now === undefined || now.metadata.uid !== uid) return false;
    if (resourceVersion !== undefined && now.metadata.resourceVersion !== resourceVersion) return false;
    const changed = change(now);
    const { deletionTimestamp, finalizers = [] } = changed.metadata;
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.objects.delete(name);
    else this.objects.set(name, { ...changed, metadata: { ...changed.metadata, resourceVersion: this.#next("rv") } });
    return true;
  }

  /** `finalizer`: what a deletion in the foreground, or with orphans, adds. */
  delete(object: T, finalizer?: string): boolean {
    return this.update(object, (now) => {
      const { finalizers = [], deletionTimestamp = "2026-11-15T00:00:00Z" } = now.metadata;
      const added = finalizer === undefined || finalizers.includes(finalizer) ? [] : [finalizer];
      return { ...now, metadata: { ...now.metadata, deletionTimestamp, finalizers: [...finalizers, ...added] } };
    });
  }

  dropFinalizer(object: T, finalizer: string): boolean {
    return this.update(object, (now) => withMetadata(now, { finalizers: without(now, finalizer) }));
  }
}

export function without({ metadata }: Stored, finalizer: string): string[] {
  return (metadata.finalizers ?? []).filter((each) => each !== finalizer);
}

export function withMetadata<T extends Stored>(object: T, metadata: Partial<KubevirtMetadata>): T {
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}

/** As the API server does: it refuses a new finalizer on an object that is being deleted. Undefined: refused. */
export function patched(claim: StoredClaim, patch: MetadataPatch): StoredClaim | undefined {
  const { metadata } = claim;
  const before = new Set(metadata.finalizers);
  const isAdding = (patch.finalizers ?? []).some((each) => !before.has(each));
  if (metadata.deletionTimestamp !== undefined && isAdding) return undefined;
  return {
    ...claim,
    metadata: {
      ...metadata,
      labels: merged(metadata.labels, patch.labels),
      annotations: merged(metadata.annotations, patch.annotations),
      ...(patch.ownerReferences !== undefined && { ownerReferences: [...patch.ownerReferences] }),
      ...(patch.finalizers !== undefined && { finalizers: [...patch.finalizers] }),
    },
  };
}

function merged(
  before: Readonly<Record<string, string>> = {},
  patch: Readonly<Record<string, string | null>> = {},
): Record<string, string> {
  const entries = Object.entries({ ...before, ...patch });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== null));
}
