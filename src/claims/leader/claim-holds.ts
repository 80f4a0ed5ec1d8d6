// Addresses held for claims, by claim, by family and by the nodes that use them; of 100,000 holds of pods none is kept.
// Promised: held addresses only, none that cools. Not promised: freshness; a change of a hold names its version.
import { holdFamilyOf } from "../../api/claims/claim-family.ts";
import { ownerOfIdentity } from "../../api/claims/claim-marks.ts";
import { ownerKindAnnotation } from "../../api/holds/hold-marks.ts";
import { holdKind } from "../../api/holds/hold.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { StoredHold } from "../../cluster/resources.ts";
import type { Hold } from "../../ipam/ledger.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import { MultiMap } from "../../kube/cache/multi-map.ts";
import { type DeepReadonly, keyOf } from "../../kube/meta.ts";
import { type HeldObject, readHeld } from "../../ledger/reservation/list-holds.ts";
import type { ClaimsOptions } from "./leader.ts";

export class ClaimHoldIndex {
  readonly #options: Pick<ClaimsOptions, "reservations" | "holds" | "clock">;
  /** Kind and key of the object -> what it holds. */
  readonly #byObject = new Map<string, readonly RecordedHold[]>();
  readonly #by = {
    claim: new MultiMap<RecordedHold>(),
    family: new MultiMap<RecordedHold>(),
    owner: new MultiMap<RecordedHold>(),
    node: new MultiMap<RecordedHold>(),
  };
  /** What is there already has been told. */
  #isOn = false;

  constructor(options: Pick<ClaimsOptions, "reservations" | "holds" | "clock">) {
    this.#options = options;
  }

  /** Until the signal aborts. `onChange` is told after each change. */
  follow(onChange: (changed: readonly RecordedHold[]) => void, signal: AbortSignal): void {
    const { reservations, holds } = this.#options;
    const ends = [this.#handle(reservations, onChange), this.#handle(holds, onChange)];
    this.#isOn = true;
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
  }

  *all(): IterableIterator<RecordedHold> {
    for (const some of this.#byObject.values()) yield* some;
  }

  /** Claims and owners by UID, nodes by name. */
  of(what: "claim" | "family" | "owner" | "node", key: string): readonly RecordedHold[] {
    return this.#by[what].get(key);
  }

  families(): Iterable<string> {
    return this.#by.family.keys();
  }

  #handle<T extends HeldObject>(
    informer: Informer<T>,
    onChange: (changed: readonly RecordedHold[]) => void,
  ): () => void {
    return informer.handle(({ type, object }) => {
      const key = `${informer.resource.kind} ${keyOf(object)}`;
      const before = this.#byObject.get(key) ?? [];
      const after = type === "delete" ? [] : heldOf(object, this.#isOn ? this.#options.clock.wallMs() : undefined);
      if (before.length === 0 && after.length === 0) return;
      for (const each of before) this.#index(each, "delete");
      for (const each of after) this.#index(each, "add");
      if (after.length > 0) this.#byObject.set(key, after);
      else this.#byObject.delete(key);
      onChange([...before, ...after]);
    });
  }

  #index(held: RecordedHold, change: "add" | "delete"): void {
    const { hold } = held;
    this.#by.claim[change](hold.owner.uid, held);
    this.#by.family[change](holdFamilyOf(hold.owner), held);
    const owner = ownerUidOf(hold);
    if (owner !== undefined) this.#by.owner[change](owner, held);
    for (const node of new Set(hold.users?.map((user) => user.node))) this.#by.node[change](node, held);
  }
}

/** The VM, or the VMI without one, that the claim of a hold is for, by UID; undefined where nothing says it. */
export function ownerUidOf({ note }: Hold): string | undefined {
  return ownerOfIdentity(note?.identity) || undefined;
}

function heldOf(object: DeepReadonly<HeldObject>, changedMs: number | undefined): RecordedHold[] {
  // Most are of pods: their kind is seen without reading the rest.
  const kind =
    object.kind === holdKind.kind
      ? (object as DeepReadonly<StoredHold>).spec.owner.kind
      : object.metadata.annotations?.[ownerKindAnnotation];
  if (kind !== "claim") return [];
  return readHeld(object as HeldObject).flatMap((each) =>
    each.unreadable === undefined && each.cooling === undefined && each.hold.owner.kind === "claim"
      ? [{ hold: each.hold, namespace: each.namespace, ...(changedMs !== undefined && { changedMs }) }]
      : [],
  );
}
