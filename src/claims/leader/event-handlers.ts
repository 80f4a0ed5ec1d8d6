// Which families a change is about: events of everything that is followed, as keys to plan.
// Promised: whatever a family's facts are made of wakes it. Waking one too many costs a plan and no call.
import { familyKeysOf, holdFamilyOf } from "../../api/claims/claim-family.ts";
import { launchedBy } from "../../api/claims/launcher-pod.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { NetworkAttachmentDefinition, Pod, StoredClaim } from "../../cluster/resources.ts";
import { claimReferencesOf } from "../../cni/claim-references.ts";
import type { InformerEvent } from "../../kube/cache/informer.ts";
import { type DeepReadonly, keyOf, type KubeObject } from "../../kube/meta.ts";
import { ownerUidsOf } from "./caches.ts";
import type { Gatherer, Sources } from "./facts-reader.ts";

export interface WakesOptions extends Sources {
  readonly gatherer: Gatherer;
  readonly wake: (family: string) => void;
  /** Of a VM or VMI: it came or changed. */
  readonly machineSeen: (family: string) => void;
  readonly claimGone: (claim: DeepReadonly<StoredClaim>) => void;
}

export class Wakes {
  readonly #options: WakesOptions;
  /** A handler that is new is told of all that is cached: 10,000 of each, which `all` says in one go. */
  #isOn = false;

  constructor(options: WakesOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. Cached objects wake nobody: `all` has them. */
  follow(signal: AbortSignal): void {
    const { caches, held, pods, presence, definitions } = this.#options;
    held.follow(this.#onHeld, signal);
    const ends = [
      definitions.handle((event) => this.#isOn && this.#onDefinition(event)),
      caches.machines.handle((event) => this.#isOn && this.#onMachine(event)),
      caches.instances.handle((event) => this.#isOn && this.#onMachine(event)),
      caches.claims.handle((event) => this.#isOn && this.#onClaim(event)),
      caches.namespaces.handle((event) => this.#isOn && this.#onNamespace(event)),
      pods.handle(({ object }) => this.#isOn && this.#onPod(object)),
      presence.handle((node) => this.#onHeld(held.of("node", node))),
    ];
    this.#isOn = true;
    signal.addEventListener("abort", () => ends.forEach((end) => end()), { once: true });
  }

  all(): ReadonlySet<string> {
    const { caches, held } = this.#options;
    return new Set([
      ...caches.machines.cache.keys(),
      ...caches.instances.cache.keys(),
      ...[...caches.claims.cache.list()].flatMap((claim) => familyKeysOf(claim)),
      ...held.families(),
    ]);
  }

  /** Families of VMs and VMIs without a claim: somebody may wait for one. */
  *new(): IterableIterator<string> {
    const { machines, instances, claims } = this.#options.caches;
    for (const { cache } of [instances, machines]) {
      for (const family of cache.keys()) if (claims.cache.byIndex("family", family).length === 0) yield family;
    }
  }

  readonly #onHeld = (changed: readonly RecordedHold[]): void => {
    const { caches, gatherer } = this.#options;
    if (!this.#isOn) return;
    for (const { hold } of changed) {
      const claims = caches.claims.cache.byIndex("uid", hold.owner.uid);
      this.#wakeAll(claims.flatMap((claim) => familyKeysOf(claim)));
      this.#options.wake(gatherer.familyOfOrphan(hold));
    }
  };

  #onMachine({ type, object }: Pick<InformerEvent<KubeObject>, "type" | "object">): void {
    const family = keyOf(object);
    if (type !== "delete") this.#options.machineSeen(family);
    this.#options.wake(family);
    // Claims that this one owns and that do not have its name.
    const owned = this.#options.caches.claims.cache.byIndex("owner", object.metadata.uid ?? "");
    this.#wakeAll(owned.flatMap((claim) => familyKeysOf(claim)));
  }

  #onClaim(event: InformerEvent<StoredClaim>): void {
    const { caches, pending } = this.#options;
    pending.see(event.object);
    const both = event.type === "update" ? [event.object, event.previous] : [event.object];
    for (const claim of both) {
      this.#wakeAll([...familyKeysOf(claim), ...ownerUidsOf(claim).flatMap((uid) => caches.familyOf(uid) ?? [])]);
    }
    if (event.type !== "delete") return;
    this.#options.claimGone(event.object);
    const { namespace = "" } = event.object.metadata;
    // Somebody may have waited for room.
    if (caches.claimsLeft(namespace) !== undefined) this.#wakeNamespace(namespace);
  }

  #onPod({ metadata }: DeepReadonly<Pod>): void {
    const { namespace = "", name = "", annotations = {} } = metadata;
    const launched = launchedBy(metadata);
    if (launched !== undefined) this.#options.wake(`${namespace}/${launched.name}`);
    for (const reference of claimReferencesOf({ namespace, name, annotations })) {
      const claim = this.#options.caches.claims.cache.get(`${namespace}/${reference}`);
      this.#wakeAll(claim === undefined ? [holdFamilyOf({ namespace, name: reference })] : familyKeysOf(claim));
    }
  }

  #onDefinition({ object }: InformerEvent<NetworkAttachmentDefinition>): void {
    const { caches, networks } = this.#options;
    networks.changed();
    const key = keyOf(object);
    for (const { cache } of [caches.machines, caches.instances])
      this.#wakeAll(cache.byIndex("definition", key).map(keyOf));
    const text = object.spec?.config ?? "";
    if (text.includes("primary")) this.#wakeNamespace(object.metadata.namespace ?? "");
    // Its ranges may have moved away from what is held.
    const named = networks.nameIn(object);
    const claims = named === "" ? [] : caches.claims.cache.byIndex("network", named);
    this.#wakeAll(claims.flatMap((claim) => familyKeysOf(claim)));
  }

  #onNamespace(event: InformerEvent<KubeObject>): void {
    if (event.type === "update") {
      const textOf = ({ metadata }: DeepReadonly<KubeObject>) =>
        JSON.stringify([metadata.deletionTimestamp, metadata.annotations]);
      if (textOf(event.object) === textOf(event.previous)) return;
    }
    this.#wakeNamespace(event.object.metadata.name ?? "");
  }

  #wakeNamespace(namespace: string): void {
    const { caches } = this.#options;
    for (const { cache } of [caches.machines, caches.instances]) {
      this.#wakeAll(cache.byIndex("namespace", namespace).map(keyOf));
    }
    this.#wakeAll(caches.claims.cache.byIndex("namespace", namespace).flatMap((claim) => familyKeysOf(claim)));
  }

  #wakeAll(families: readonly string[]): void {
    for (const family of families) this.#options.wake(family);
  }
}
