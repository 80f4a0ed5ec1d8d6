// What the commands about claims read, once: plain lists without a watch; and indexes: an address's owner, an owner's
// addresses. Not promised: one moment. Claims are read before holds: a hold precedes its claim's status, so an address
// that a claim shows is held by the time the holds are listed. Pods come after the holds that name them.
import { nicOfIdentity, ownerOfIdentity, ownershipOf } from "../../api/claims/claim-marks.ts";
import { sliceLabelName } from "../../api/slices/slice-grant.ts";
import { type ClaimsState, readClaimsState } from "../../cluster/claims-state.ts";
import * as kinds from "../../cluster/resources.ts";
import { readSlicedRanges, type SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { type ClusterAccess, fetchState, readState, type State } from "../../cluster/state.ts";
import { keyOf, type KubeObject } from "../../kube/meta.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeClient, Scope } from "../../kube/rest.ts";
import { listHolds, type ListedHold } from "../../ledger/reservation/list-holds.ts";
import type { Address } from "../../net/address.ts";
import type { Instance, Machine } from "../leader/caches.ts";
import { type Extensions, readExtensions } from "../leader/ipam-extensions-detector.ts";
import { type LedgerPlace, LedgerPlaces } from "../leader/ledger-place.ts";

export interface ClaimsSnapshot {
  readonly systemNamespace: string;
  readonly nowMs: number;
  readonly hasClaims: boolean;
  readonly claims: readonly kinds.StoredClaim[];
  /** Holds of all owners, cooling ones too: only all of them tell whose an address is. */
  readonly held: readonly ListedHold[];
  /** Key: namespace/name. */
  readonly machines: ReadonlyMap<string, Machine>;
  /** Key: namespace/name. */
  readonly instances: ReadonlyMap<string, Instance>;
  /** Key: namespace/name. */
  readonly pods: ReadonlyMap<string, kinds.Pod>;
  /** Key: the node's name. */
  readonly nodes: ReadonlyMap<string, kinds.Node>;
  readonly definitions: readonly kinds.NetworkAttachmentDefinition[];
  /** Shared ones, key: namespace/name. */
  readonly pools: ReadonlyMap<string, kinds.StoredPool>;
  /** Undefined: not known. */
  readonly sliced: SlicedRanges | undefined;
  readonly gate: ClaimsState;
  readonly state: State;
  /** kubevirt/ipam-extensions, as far as it is seen. */
  readonly extensions: Extensions;
}

interface ClaimsOptions extends ClusterAccess {
  /** Claims, machines and pods of this namespace only. */
  readonly namespace?: string | undefined;
  readonly now: () => number;
}

export async function readClaims(options: ClaimsOptions): Promise<ClaimsSnapshot> {
  const { client, systemNamespace, namespace, now, signal } = options;
  const list = <T extends KubeObject>(resource: Resource<T>, scope: Scope = { namespace }) =>
    client.listServed(resource, { ...scope, signal });
  const claims = await list(kinds.ipamClaims);
  const held = await readHolds(client, signal);
  const machines = await list(kinds.virtualMachines);
  const instances = await list(kinds.virtualMachineInstances);
  const pods = await list(kinds.pods);
  const nodes = await list(kinds.nodes, {});
  const definitions = await list(kinds.networkAttachmentDefinitions, {});
  const pools = await list(kinds.ipPools, { labelSelector: `!${sliceLabelName}` });
  const state = await fetchState(client, { namespace: systemNamespace, signal });
  return {
    systemNamespace,
    nowMs: now(),
    hasClaims: claims !== undefined,
    claims: claims ?? [],
    held,
    machines: byKey(machines),
    instances: byKey(instances),
    pods: byKey(pods),
    nodes: byKey(nodes),
    definitions: definitions ?? [],
    pools: byKey(pools),
    sliced: readSlicedRanges(state),
    gate: readClaimsState(state),
    state: readState(state),
    extensions: await readExtensions(client, signal),
  };
}

/** `holdfast check` reports unreadable holds; their addresses are not free, and the ledger refuses them to takers. */
async function readHolds(client: KubeClient, signal: AbortSignal): Promise<ListedHold[]> {
  const held: ListedHold[] = [];
  for await (const each of listHolds(client, { includeCooling: true, signal })) {
    if (each.unreadable === undefined) held.push(each);
  }
  return held;
}

function byKey<T extends KubeObject>(objects: readonly T[] | undefined): Map<string, T> {
  return new Map((objects ?? []).map((object) => [keyOf(object), object]));
}

export type SnapshotIndex = ReturnType<typeof snapshotIndex>;

export function snapshotIndex(snapshot: ClaimsSnapshot) {
  const held = snapshot.held.filter(({ cooling }) => cooling === undefined);
  const ofClaims = held.filter(({ hold }) => hold.owner.kind === "claim");
  const owners = [...snapshot.machines.values(), ...snapshot.instances.values()];
  const living = new Set(owners.map(({ metadata }) => metadata.uid ?? ""));
  const byOwner = Map.groupBy(snapshot.claims, (claim) => {
    const ownership = ownershipOf(claim);
    return ownership.kind === "owned" ? ownership.uid : "";
  });
  /** Key: the claim's UID. A cooling address is nobody's. */
  const byClaim = Map.groupBy(ofClaims, ({ hold }) => hold.owner.uid);
  const byIdentity = Map.groupBy(ofClaims, ({ hold }) => hold.note?.identity ?? "");
  const placeKey = (namespace: string, domain: string, address: Address) => `${namespace} ${domain} ${address}`;
  const byPlace = new Map(held.map((each) => [placeKey(each.namespace, each.hold.domain, each.hold.address), each]));
  return {
    snapshot,
    places: new LedgerPlaces(snapshot),
    /** Key: the claim's UID. */
    claims: new Map(snapshot.claims.map((claim) => [claim.metadata.uid ?? "", claim])),
    lives: (uid: string) => living.has(uid),
    /** All holds of claims, whether the claim is there or not. */
    heldForClaims: () => [...byClaim.values()].flat(),
    claimsOf: (owner: string) => (owner === "" ? [] : (byOwner.get(owner) ?? [])),
    /** A claim's holds, by the UID of the object. */
    heldFor: (claim: string) => byClaim.get(claim) ?? [],
    /** Holds of OWNER-UID/NIC, whichever claim they are under. */
    heldAs: (identity: string) => byIdentity.get(identity) ?? [],
    nicsHeldFor: (owner: string) =>
      [...byIdentity.keys()].filter((each) => ownerOfIdentity(each) === owner).map(nicOfIdentity),
    /** The claim of the same name, whoever's it is. */
    namesake: ({ metadata: { namespace, name } }: kinds.StoredClaim) =>
      snapshot.claims.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    holderAt: ({ namespace, domain }: LedgerPlace, address: Address) =>
      byPlace.get(placeKey(namespace, domain, address)),
  };
}
