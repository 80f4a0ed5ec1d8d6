// The facts about families from a snapshot, as the leader has them from its caches: for commands that look once. Pure.
import { familyKeysOf } from "../../api/claims/claim-family.ts";
import { launchedBy } from "../../api/claims/launcher-pod.ts";
import { launchersIn, orphansFamily, userStateOf } from "../../claims/leader/facts-reader.ts";
import { launcherPodOf } from "../../claims/leader/launchers.ts";
import type { SnapshotIndex } from "../../claims/moves/snapshot.ts";
import type { ClaimHold, FamilyFacts } from "../../claims/plan/facts.ts";
import { isReady } from "../../cluster/fencing.ts";
import type { Pod, StoredClaim } from "../../cluster/resources.ts";
import { MultiMap } from "../../kube/cache/multi-map.ts";
import { parseKey } from "../../kube/meta.ts";
import type { ListedHold } from "../../ledger/reservation/list-holds.ts";

export class Families {
  readonly #books: SnapshotIndex;
  /** Key: namespace/name of the VM. */
  readonly #claims = new MultiMap<StoredClaim>();
  readonly #launchers = new MultiMap<Pod>();
  /** Key: namespace/name of the claim. */
  readonly #referring = new MultiMap<Pod>();
  /** The UID of a VM or VMI -> its namespace/name. */
  readonly #names: ReadonlyMap<string, string>;
  /** Holds whose claim is gone. Key: namespace/name of the VM. */
  readonly #orphans: ReadonlyMap<string, readonly ListedHold[]>;

  constructor(books: SnapshotIndex) {
    this.#books = books;
    const { claims, pods, machines, instances } = books.snapshot;
    for (const claim of claims) for (const key of familyKeysOf(claim)) this.#claims.add(key, claim);
    for (const pod of pods.values()) this.#sort(pod);
    this.#names = new Map([...instances, ...machines].map(([key, { metadata }]) => [metadata.uid ?? "", key]));
    this.#orphans = Map.groupBy(
      books.heldForClaims().filter(({ hold }) => !books.claims.has(hold.owner.uid)),
      ({ hold }) => orphansFamily(hold, (uid) => this.#names.get(uid)),
    );
  }

  /** Of every family that there is something about. */
  keys(): string[] {
    return [...new Set([...this.#claims.keys(), ...this.#orphans.keys()])].toSorted();
  }

  orphansOf(family: string): readonly ListedHold[] {
    return this.#orphans.get(family) ?? [];
  }

  facts(family: string): FamilyFacts {
    const books = this.#books;
    const { machines, instances, pods, nodes, gate, nowMs } = books.snapshot;
    const { namespace = "", name } = parseKey(family);
    const vm = machines.get(family);
    const vmi = instances.get(family);
    const claims = this.#claims.get(family);
    const primary = books.places.persistence.get(books.places.primaryIn(namespace) ?? "");
    const own = claims.flatMap(({ metadata }) => books.heldFor(metadata.uid ?? ""));
    return {
      namespace,
      name,
      ...(vm && { vm }),
      ...(vmi && { vmi }),
      claims,
      pods: launchersIn({ vm, vmi, claims, pods: this.#podsOf(family, claims) }),
      holds: [...own, ...this.orphansOf(family)].map((held) => this.#holdOf(held)),
      definitionOf: (key) => books.places.persistence.get(key) ?? "missing",
      ...(primary && { primary }),
      giverOf: (network) => books.places.giverOf(network, namespace),
      lives: (uid) => this.#names.get(uid)?.startsWith(`${namespace}/`) === true,
      userOf: (user) => userStateOf(user, pods.get(`${namespace}/${user.name}`)),
      gate,
      // Only a leader knows how long it has been silent.
      node: (node) => (isReady(nodes.get(node)) ? "ready" : "unreachable"),
      nowMs,
    };
  }

  #sort(pod: Pod): void {
    const { namespace = "" } = pod.metadata;
    const launched = launchedBy(pod.metadata);
    if (launched !== undefined) this.#launchers.add(`${namespace}/${launched.name}`, pod);
    for (const { claim } of launcherPodOf(pod, { specs: [], nics: [] }).nics) {
      if (claim !== undefined) this.#referring.add(`${namespace}/${claim}`, pod);
    }
  }

  #podsOf(family: string, claims: readonly StoredClaim[]): Pod[] {
    const referring = claims.flatMap(({ metadata }) => this.#referring.get(`${metadata.namespace}/${metadata.name}`));
    return [...new Set([...this.#launchers.get(family), ...referring])];
  }

  #holdOf({ hold, namespace }: ListedHold): ClaimHold {
    const network = this.#books.claims.get(hold.owner.uid)?.spec.network ?? "";
    const placing = this.#books.places.of(this.#books.places.ofNetwork(network, hold.owner.namespace), hold.address);
    return { hold, namespace, network, ...(placing.kind === "place" && { prefixLength: placing.place.length }) };
  }
}
