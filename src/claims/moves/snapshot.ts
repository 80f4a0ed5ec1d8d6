// Everything that the commands about claims look at, read once: plain lists, no following.
// Not promised: one moment. Claims are read before holds: a hold precedes its claim's status, so an address that a claim shows is held
// by the time the holds are listed. Pods come after the holds that name them.
import { sliceLabelName } from "../../api/slices/slice-grant.ts";
import { type ClaimsState, readClaimsState } from "../../cluster/claims-state.ts";
import * as kinds from "../../cluster/resources.ts";
import { readSlicedRanges, type SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { fetchState, readState, type State } from "../../cluster/state.ts";
import { listServed } from "../../kube/look-up.ts";
import { keyOf, type KubeObject } from "../../kube/meta.ts";
import type { Resource } from "../../kube/resource.ts";
import type { KubeClient, Scope } from "../../kube/rest.ts";
import { listHolds, type ListedHold } from "../../ledger/reservation/list-holds.ts";
import { type Extensions, readExtensions } from "../leader/ipam-extensions-detector.ts";
import type { Instance, Machine } from "../leader/trim.ts";

export interface ClaimsSnapshot {
  readonly systemNamespace: string;
  readonly nowMs: number;
  /** When reading began: what was written later may be seen in parts. */
  readonly beganMs: number;
  readonly hasClaims: boolean;
  readonly claims: readonly kinds.StoredClaim[];
  /** Of all owners, what rests too: whose an address is can only be told from all of them. */
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

export interface ClaimsOptions {
  readonly client: KubeClient;
  readonly systemNamespace: string;
  /** Claims, machines and pods of this namespace only. */
  readonly namespace?: string | undefined;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export async function readClaims(options: ClaimsOptions): Promise<ClaimsSnapshot> {
  const { client, systemNamespace, namespace, now, signal } = options;
  const beganMs = now();
  const list = <T extends KubeObject>(resource: Resource<T>, scope: Scope = { namespace }) =>
    listServed(client, resource, { ...scope, signal });
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
    beganMs,
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

/** What cannot be read is `holdfast check`'s to tell; an address in it is not free, and the ledger says so to who takes. */
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
