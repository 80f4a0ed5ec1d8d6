// The facts about one family, from the leader's caches. No call to the server: a restart gathers 10,000 families.
import { holdFamilyOf } from "../../api/claims/claim-family.ts";
import { claimNicAnnotation } from "../../api/claims/claim-marks.ts";
import type { VmiSpec } from "../../api/claims/kubevirt.ts";
import type { Standing } from "../../cluster/fencing.ts";
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import { hasEnded, type Pod, type StoredClaim } from "../../cluster/resources.ts";
import type { Hold, HoldUser } from "../../ipam/ledger.ts";
import { type DeepReadonly, parseKey } from "../../kube/meta.ts";
import type { ClaimHold, FamilyFacts, LauncherPod } from "../plan/facts.ts";
import type { ClaimCaches, Instance, Machine } from "./caches.ts";
import { type ClaimHoldIndex, ownerUidOf } from "./claim-holds.ts";
import type { FeatureGate } from "./feature-gate.ts";
import { launcherPodOf } from "./launchers.ts";
import type { ClaimsOptions } from "./leader.ts";
import type { ClaimNetworks } from "./networks.ts";
import type { PendingCreates } from "./pending-creates.ts";

export interface Sources extends Pick<ClaimsOptions, "pods" | "presence" | "definitions" | "clock"> {
  readonly caches: ClaimCaches;
  readonly gate: FeatureGate;
  readonly held: ClaimHoldIndex;
  readonly networks: ClaimNetworks;
  readonly pending: PendingCreates;
}

/**
 * The family of a hold whose claim is gone: its VM's, else that of the claim's name. The writer of the claim wrote the
 * VM's UID, too; a VM of another namespace does not count, since the pods at the address are in the claim's.
 */
export function orphansFamily(hold: Hold, familyOf: (uid: string) => string | undefined): string {
  const uid = ownerUidOf(hold);
  const family = uid === undefined ? undefined : familyOf(uid);
  return family?.startsWith(`${hold.owner.namespace}/`) === true ? family : holdFamilyOf(hold.owner);
}

/** The parts of the facts that are objects: read from caches here, from the server in live-objects.ts. */
export interface FamilyObjects {
  readonly vm?: DeepReadonly<Machine> | undefined;
  readonly vmi?: DeepReadonly<Instance> | undefined;
  readonly claims: readonly DeepReadonly<StoredClaim>[];
  readonly pods: readonly DeepReadonly<Pod>[];
  readonly held: readonly RecordedHold[];
  readonly lives: (uid: string) => boolean;
  /** Undefined: there is none. */
  readonly podNamed: (name: string) => DeepReadonly<Pod> | undefined;
  readonly node: (name: string) => Standing;
}

export class Gatherer {
  readonly #sources: Sources;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  facts(family: string): FamilyFacts {
    return this.factsOf(family, this.objects(family));
  }

  objects(family: string): FamilyObjects {
    const { caches, pods, presence, pending } = this.#sources;
    const { namespace = "" } = parseKey(family);
    const vm = caches.machines.cache.get(family);
    const vmi = caches.instances.cache.get(family);
    const own = [...caches.claims.cache.byIndex("family", family), ...pending.of(family)];
    const held = this.#heldOf(family, own, [vm?.metadata.uid, vmi?.metadata.uid]);
    const claims = withNamed(own, held, (key) => caches.claims.cache.get(key));
    const named = claims.flatMap(({ metadata }) => pods.cache.byIndex("claim", `${namespace}/${metadata.name ?? ""}`));
    const found = onceEach([...pods.cache.byIndex("launcher", family), ...named], ({ metadata }) => metadata.uid ?? "");
    return {
      vm,
      vmi,
      claims,
      pods: found,
      held,
      lives: (uid) => caches.lives(namespace, uid),
      podNamed: (name) => pods.cache.get(`${namespace}/${name}`),
      node: (name) => presence.of(name),
    };
  }

  factsOf(family: string, objects: FamilyObjects): FamilyFacts {
    const { caches, networks, pending, clock } = this.#sources;
    const gate = this.#sources.gate.state;
    const { namespace = "", name } = parseKey(family);
    const { vm, vmi, claims } = objects;
    const left = caches.claimsLeft(namespace, pending.count(namespace));
    const primary = gate.gate === "on" ? networks.primaryOf(namespace) : undefined;
    return {
      namespace,
      name,
      ...(vm !== undefined && { vm: vm as Machine }),
      ...(vmi !== undefined && { vmi: vmi as Instance }),
      claims: claims as readonly StoredClaim[],
      pods: launchersIn(objects),
      holds: objects.held.map((held) => this.#holdOf(held, claims)),
      definitionOf: (key) => networks.definitionOf(key),
      ...(primary !== undefined && { primary }),
      giverOf: (network) => networks.giverOf(network, namespace),
      lives: objects.lives,
      ...caches.ownersFacts,
      userOf: (user) => userStateOf(user, objects.podNamed(user.name)),
      gate,
      ...(left !== undefined && { claimsLeft: left }),
      isTerminating: caches.isTerminating(namespace),
      node: objects.node,
      nowMs: clock.wallMs(),
    };
  }

  /** Holds of the family's claims; those of claims that are gone by their VM, else by the claim's name. */
  #heldOf(
    family: string,
    claims: readonly DeepReadonly<StoredClaim>[],
    uids: readonly (string | undefined)[],
  ): readonly RecordedHold[] {
    const { caches, held } = this.#sources;
    const own = claims.flatMap(({ metadata }) => held.of("claim", metadata.uid ?? ""));
    const orphans = [...held.of("family", family), ...uids.flatMap((uid) => held.of("owner", uid ?? ""))].filter(
      ({ hold }) => {
        if (caches.claims.cache.byIndex("uid", hold.owner.uid).length > 0) return false;
        return this.familyOfOrphan(hold) === family;
      },
    );
    return onceEach([...own, ...orphans], (each) => each);
  }

  familyOfOrphan(hold: Hold): string {
    return orphansFamily(hold, (uid) => this.#sources.caches.familyOf(uid));
  }

  #holdOf({ hold, namespace, changedMs }: RecordedHold, claims: readonly DeepReadonly<StoredClaim>[]): ClaimHold {
    const { networks } = this.#sources;
    const claim = claims.find(({ metadata }) => metadata.uid === hold.owner.uid);
    // Other writers may leave out the spec, whatever its type says.
    const spec = claim?.spec as Partial<StoredClaim["spec"]> | undefined;
    const ofClaim = spec?.network ? [spec.network] : [];
    const found = claim === undefined ? networks.networksOf(hold, namespace) : ofClaim;
    const told = changedMs !== undefined && { changedMs };
    const [network] = found;
    if (network === undefined || found.length > 1) return { hold, namespace, networks: found, ...told };
    const range = networks.rangeOf(network, hold.owner.namespace, hold.address)?.range;
    const length = range?.prefix.length ?? networks.lengthAround(network, hold.owner.namespace, hold.address);
    // A static address outside all ranges has no pool, and is where it was asked for.
    const isJudged = hold.note?.pool !== undefined && networks.rangesOf(network, hold.owner.namespace).length > 0;
    return {
      hold,
      namespace,
      networks: found,
      ...told,
      ...(length !== undefined && { prefixLength: length }),
      ...(isJudged && { isOutOfRange: range === undefined }),
    };
  }
}

/** And the claim of each hold's name, whoever's it is by now. */
function withNamed(
  own: readonly DeepReadonly<StoredClaim>[],
  held: readonly RecordedHold[],
  get: (key: string) => DeepReadonly<StoredClaim> | undefined,
): readonly DeepReadonly<StoredClaim>[] {
  const named = held.flatMap(({ hold: { owner } }) => get(`${owner.namespace}/${owner.name}`) ?? []);
  return onceEach([...own, ...named], (each) => each);
}

/** Of a stopped VM there is one of each at most, and 10,000 of those are gathered at a restart. */
function onceEach<T>(all: readonly T[], keyOf: (each: T) => unknown): readonly T[] {
  if (all.length < 2) return all;
  return [...new Map(all.map((each) => [keyOf(each), each])).values()];
}

/** Pods of a family, with the NICs that they have. */
export function launchersIn(objects: Pick<FamilyObjects, "pods" | "vm" | "vmi" | "claims">): readonly LauncherPod[] {
  const { pods, vm, vmi, claims } = objects;
  if (pods.length === 0) return [];
  const specs = [vmi?.spec, vm?.spec?.template?.spec].filter((spec) => spec !== undefined) as VmiSpec[];
  const nics = claims.flatMap(({ metadata }) => metadata.annotations?.[claimNicAnnotation] ?? []);
  return pods.map((pod) => launcherPodOf(pod, { specs, nics }));
}

/** A pod of the same name and another UID is another pod. */
export function userStateOf({ uid }: HoldUser, pod: DeepReadonly<Pod> | undefined): ReturnType<FamilyFacts["userOf"]> {
  // An unreadable user stands here without a UID: nobody knows what became of it.
  if (uid === "") return "unknown";
  if (pod === undefined || pod.metadata.uid !== uid) return "gone";
  return hasEnded(pod) ? "over" : "alive";
}
