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

export function familiesOf(books: SnapshotIndex) {
  const { snapshot, places } = books;
  const { machines, instances, pods, nodes, gate, nowMs } = snapshot;
  /** Key: namespace/name of the VM. */
  const claimsOf = new MultiMap<StoredClaim>();
  const launchers = new MultiMap<Pod>();
  /** Key: namespace/name of the claim. */
  const referring = new MultiMap<Pod>();
  for (const claim of snapshot.claims) for (const key of familyKeysOf(claim)) claimsOf.add(key, claim);
  for (const pod of pods.values()) {
    const { namespace = "" } = pod.metadata;
    const launched = launchedBy(pod.metadata);
    if (launched !== undefined) launchers.add(`${namespace}/${launched.name}`, pod);
    for (const { claim } of launcherPodOf(pod, { specs: [], nics: [] }).nics) {
      if (claim !== undefined) referring.add(`${namespace}/${claim}`, pod);
    }
  }
  /** The UID of a VM or VMI -> its namespace/name. */
  const names = new Map([...instances, ...machines].map(([key, { metadata }]) => [metadata.uid ?? "", key]));
  /** Holds whose claim is gone. Key: namespace/name of the VM. */
  const orphans = Map.groupBy(
    books.heldForClaims().filter(({ hold }) => !books.claims.has(hold.owner.uid)),
    ({ hold }) => orphansFamily(hold, (uid) => names.get(uid)),
  );
  const holdOf = ({ hold, namespace }: ListedHold): ClaimHold => {
    const network = books.claims.get(hold.owner.uid)?.spec.network ?? "";
    const placing = places.of(places.ofNetwork(network, hold.owner.namespace), hold.address);
    const networks = network === "" ? [] : [network];
    return { hold, namespace, networks, ...(placing.kind === "place" && { prefixLength: placing.place.length }) };
  };
  const facts = (family: string): FamilyFacts => {
    const { namespace = "", name } = parseKey(family);
    const vm = machines.get(family);
    const vmi = instances.get(family);
    const claims = claimsOf.get(family);
    const primary = places.persistence.get(places.primaryIn(namespace) ?? "");
    const own = claims.flatMap(({ metadata }) => books.heldFor(metadata.uid ?? ""));
    const users = claims.flatMap(({ metadata }) => referring.get(`${metadata.namespace}/${metadata.name}`));
    return {
      namespace,
      name,
      ...(vm && { vm }),
      ...(vmi && { vmi }),
      claims,
      pods: launchersIn({ vm, vmi, claims, pods: [...new Set([...launchers.get(family), ...users])] }),
      holds: [...own, ...(orphans.get(family) ?? [])].map(holdOf),
      definitionOf: (key) => places.persistence.get(key) ?? "missing",
      ...(primary && { primary }),
      giverOf: (network) => places.giverOf(network, namespace),
      lives: (uid) => names.get(uid)?.startsWith(`${namespace}/`) === true,
      userOf: (user) => userStateOf(user, pods.get(`${namespace}/${user.name}`)),
      gate,
      // Only a leader knows how long it has been silent.
      node: (node) => (isReady(nodes.get(node)) ? "ready" : "unreachable"),
      nowMs,
    };
  };
  /** Of every family that there is something about. */
  const keys = () => [...new Set([...claimsOf.keys(), ...orphans.keys()])].toSorted();
  return { keys, facts };
}
