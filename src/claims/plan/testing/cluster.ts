// A small cluster in memory: objects, a ledger, nodes, definitions, garbage collection. One namespace.
import type { ClaimsState } from "../../../cluster/claims-state.ts";
import type { Standing } from "../../../cluster/fencing.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import type { Persistence } from "../../../cni/config/persistence.ts";
import type { Hold } from "../../../ipam/ledger.ts";
import { MemoryLedger, MemoryStore } from "../../../ipam/testing/memory-ledger.ts";
import { type ModelPod, type ModelVm, type ModelVmi, Shelf, withMetadata, without } from "./objects.ts";

export const namespace = "t";

/** A guest's NIC that has an address: true whatever objects say. */
export interface Sandbox {
  readonly pod: string;
  readonly podUid: string;
  readonly node: string;
  /** Whose guest it is, through orphaning and adoption. */
  readonly guest: string;
  readonly nic: string;
  readonly network: string;
  readonly address: string;
}

export class ModelCluster {
  nowMs = Date.parse("2026-11-15T12:00:00Z");
  #counters = new Map<string, number>();
  readonly vms: Shelf<ModelVm>;
  readonly vmis: Shelf<ModelVmi>;
  readonly pods: Shelf<ModelPod>;
  readonly claims: Shelf<StoredClaim>;
  readonly store = new MemoryStore();
  readonly ledger: MemoryLedger;
  readonly nodes = new Map<string, Standing>([
    ["n1", "ready"],
    ["n2", "ready"],
    ["n3", "ready"],
  ]);
  readonly definitions = new Map<string, Persistence | "missing" | "unknown">();
  gate: ClaimsState = { gate: "on", needsLabel: false };
  claimsLeft: number | undefined;
  /** None: an address that is freed too early is another's at once, and seen. */
  cooldownMs = 0;
  primary: Persistence | undefined;
  /** What really runs. */
  sandboxes: Sandbox[] = [];
  /** VM or VMI UID -> the guest, which outlives owners. */
  readonly guests = new Map<string, string>();

  constructor() {
    const next = (what: string): string => this.count(what);
    this.vms = new Shelf<ModelVm>("vm", next);
    this.vmis = new Shelf<ModelVmi>("vmi", next);
    this.pods = new Shelf<ModelPod>("pod", next);
    this.claims = new Shelf<StoredClaim>("claim", next);
    this.ledger = new MemoryLedger(this.store, { now: () => this.nowMs });
    this.define("blue");
    this.define("green");
  }

  /** A definition of the same name as its network. */
  define(network: string, change: Partial<Persistence> = {}): void {
    const plain = { network: `${network}-net`, isAllowed: true, isPrimary: false, isOurs: true, problem: "" };
    this.definitions.set(`${namespace}/${network}`, { ...plain, ...change });
  }

  count(what: string): string {
    const number = (this.#counters.get(what) ?? 0) + 1;
    this.#counters.set(what, number);
    return `${what}-${number}`;
  }

  holds(): readonly Hold[] {
    return [...this.store.holds.values()];
  }

  /** One thing that the garbage collector would do now; false: nothing. */
  collect(): boolean {
    return this.#collectOrphans() || this.#collectForeground() || this.#collectAbsent();
  }

  #dependents(uid: string | undefined): { readonly shelf: Shelf<ModelVmi>; readonly object: ModelVmi }[] {
    // All kinds have the same metadata, which is all that is looked at here.
    const shelves = [this.vmis, this.pods, this.claims] as unknown as Shelf<ModelVmi>[];
    return shelves.flatMap((shelf) =>
      [...shelf.objects.values()]
        .filter(({ metadata }) => metadata.ownerReferences?.some((each) => each.uid === uid))
        .map((object) => ({ shelf, object })),
    );
  }

  #owners(): { readonly shelf: Shelf<ModelVm>; readonly object: ModelVm }[] {
    const shelves = [this.vms, this.vmis] as unknown as Shelf<ModelVm>[];
    return shelves.flatMap((shelf) => [...shelf.objects.values()].map((object) => ({ shelf, object })));
  }

  #collectOrphans(): boolean {
    const found = this.#owners().find(({ object }) => object.metadata.finalizers?.includes("orphan"));
    if (found === undefined) return false;
    const { uid } = found.object.metadata;
    const dependent = this.#dependents(uid)[0];
    if (dependent === undefined) return found.shelf.dropFinalizer(found.object, "orphan");
    const { shelf, object } = dependent;
    return shelf.update(object, (now) =>
      withMetadata(now, { ownerReferences: (now.metadata.ownerReferences ?? []).filter((each) => each.uid !== uid) }),
    );
  }

  #collectForeground(): boolean {
    for (const { shelf, object } of this.#owners()) {
      if (!object.metadata.finalizers?.includes("foregroundDeletion")) continue;
      const blocking = this.#dependents(object.metadata.uid).filter(({ object: each }) =>
        each.metadata.ownerReferences?.some(
          ({ uid, blockOwnerDeletion }) => uid === object.metadata.uid && blockOwnerDeletion,
        ),
      );
      if (blocking.length === 0) return shelf.dropFinalizer(object, "foregroundDeletion");
      const next = blocking.find(({ object: each }) => each.metadata.deletionTimestamp === undefined);
      if (next !== undefined) return next.shelf.delete(next.object);
    }
    return false;
  }

  #collectAbsent(): boolean {
    const alive = new Set(this.#owners().map(({ object }) => object.metadata.uid));
    const shelves = [this.vmis, this.pods, this.claims] as unknown as Shelf<ModelVmi>[];
    for (const shelf of shelves) {
      const left = [...shelf.objects.values()].find(({ metadata }) => {
        const references = metadata.ownerReferences ?? [];
        return (
          references.length > 0 &&
          metadata.deletionTimestamp === undefined &&
          references.every(({ uid }) => !alive.has(uid))
        );
      });
      // A pod is deleted with its grace: it has a finalizer here that the kubelet takes off.
      if (left !== undefined) return shelf.delete(left);
    }
    return false;
  }

  /** A hand that takes every finalizer off. */
  forceFinalizers(claim: StoredClaim, finalizer: string): boolean {
    return this.claims.update(claim, (now) => withMetadata(now, { finalizers: without(now, finalizer) }));
  }
}
