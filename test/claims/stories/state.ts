// The state of one NIC of one VM by the names of the state machine, read from what stands on the API server: by the
// marks that are promised to users, with nothing of the code that makes them.
import { isApiError } from "../../../src/kube/errors.ts";
import type { AnyObject } from "../../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../../src/kube/resource.ts";
import type { KubeClient } from "../../../src/kube/rest.ts";
import { attachmentsOf, claimOf, heldOf } from "../checker-reading.ts";
import { claims } from "../claim-objects.ts";
import { edit, find } from "../kubevirt/edit.ts";
import { interfaceNameOf } from "../kubevirt/names.ts";
import { type DomainSpec, vmis, vms } from "../kubevirt/objects.ts";

export type State = "NONE" | "PEND" | "BOUND" | "MIGR" | "RSVD" | "DETACH" | "TERM" | "QUAR" | "FOREIGN";

export interface Sight {
  readonly state: State;
  /** Held for the NIC, or resting since; in order. */
  readonly addresses: readonly string[];
  readonly claim: AnyObject | undefined;
}

const reservations = kindOf(
  "whereabouts.cni.cncf.io",
  "overlappingrangeipreservations",
  "OverlappingRangeIPReservation",
);
const holds = kindOf("holdfast.io", "holds", "Hold");
const pods = defineResource<AnyObject>({ group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true });

function kindOf(group: string, plural: string, kind: string): Resource<AnyObject> {
  return defineResource<AnyObject>({ group, version: "v1alpha1", plural, kind, namespaced: true });
}

interface At {
  readonly namespace: string;
  readonly name: string;
}

export async function look(client: KubeClient, at: At, nic: string): Promise<Sight> {
  const { namespace, name } = at;
  const vm = await find(client, vms, at);
  const vmi = await find(client, vmis, at);
  const owner = (vm ?? vmi)?.metadata.uid ?? "";
  const all = (await client.list(claims, { namespace })).items;
  const own = all.find((each) => claimOf(each).ownerUid === owner && claimOf(each).nic === nic);
  const plain = all.find(({ metadata }) => metadata.name === `${name}.${nic}`);
  const claim = own ?? plain;
  const books = await readBooks(client, namespace);
  const heldFor = (uid: string) => books.filter((each) => each.owner === `claim:${uid}` && !each.isResting);
  const addresses = claim === undefined ? [] : heldFor(claim.metadata.uid ?? "").map(({ address }) => address);
  if (claim === undefined) return withoutClaim(books, `${name}.${nic}`);
  if (own === undefined && owner !== "") return { state: "FOREIGN", addresses, claim };
  if (claim.metadata.deletionTimestamp !== undefined) return { state: "TERM", addresses, claim };
  if (addresses.length === 0) return { state: "PEND", addresses, claim };
  const users = await attached(client, at, nic, addresses);
  const isPlugged = isPresent(vm?.spec.template.spec ?? vmi?.spec, nic);
  if (users === 0) return { state: "RSVD", addresses, claim };
  if (!isPlugged) return { state: "DETACH", addresses, claim };
  return { state: users === 1 ? "BOUND" : "MIGR", addresses, claim };
}

/** Pods whose network-status shows the address at the NIC's interface, and that have not ended. */
async function attached(client: KubeClient, { namespace }: At, nic: string, addresses: readonly string[]) {
  const { items } = await client.list(pods, { namespace });
  const hashed = interfaceNameOf(nic, 0, "hashed");
  const having = items.filter((pod) =>
    attachmentsOf(pod).some(
      (each) => addresses.includes(each.address) && [hashed, "net1", "net2"].includes(each.interface),
    ),
  );
  return having.length;
}

function isPresent(spec: DomainSpec | undefined, nic: string): boolean {
  const port = spec?.domain.devices.interfaces.find(({ name }) => name === nic);
  return port !== undefined && port.state !== "absent";
}

interface Line {
  readonly address: string;
  readonly owner: string;
  readonly claim: string;
  readonly isResting: boolean;
}

function withoutClaim(books: readonly Line[], claim: string): Sight {
  const left = books.filter((each) => each.claim === claim);
  const held = left.filter(({ isResting }) => !isResting);
  const addresses = (held.length > 0 ? held : left).map(({ address }) => address);
  if (left.length === 0) return { state: "NONE", addresses, claim: undefined };
  return { state: held.length > 0 ? "TERM" : "QUAR", addresses, claim: undefined };
}

/** Everything that is held or rests for claims of a namespace. */
async function readBooks(client: KubeClient, namespace: string): Promise<Line[]> {
  const found: Line[] = [];
  for (const kind of ["reservation", "hold"] as const) {
    for (const object of await listed(client, kind === "hold" ? holds : reservations)) {
      const { "holdfast.io/cooling": cooling, ...labels } = object.metadata.labels ?? {};
      const held = heldOf(kind, { ...object, metadata: { ...object.metadata, labels } });
      const of = claimNameOf(kind, object);
      if (held === undefined || of === undefined || of.namespace !== namespace) continue;
      found.push({ ...held, claim: of.name, isResting: cooling === "true" });
    }
  }
  return found.toSorted((a, b) => (a.address < b.address ? -1 : 1));
}

/** Of every owner and every network; what rests is nobody's. */
export async function heldAddresses(client: KubeClient): Promise<string[]> {
  const found: string[] = [];
  for (const kind of ["reservation", "hold"] as const) {
    for (const object of await listed(client, kind === "hold" ? holds : reservations)) {
      const held = heldOf(kind, object);
      if (held !== undefined) found.push(held.address);
    }
  }
  return found;
}

/** Time passes for an address that rests, and for nothing else. */
export async function restIsOver(client: KubeClient, address: string): Promise<void> {
  for (const resource of [reservations, holds]) {
    for (const { metadata } of await listed(client, resource)) {
      const { name = "", namespace = "", labels = {} } = metadata;
      if (labels["holdfast.io/cooling"] !== "true" || !name.endsWith(address)) continue;
      await edit(client, resource, { namespace, name }, (object) => {
        object.metadata.annotations = { ...object.metadata.annotations, "holdfast.io/cooling-until": "1" };
      });
    }
  }
}

function claimNameOf(kind: "reservation" | "hold", { metadata, spec }: AnyObject): At | undefined {
  if (kind === "hold") {
    const { owner } = spec as { owner: { kind: string; namespace: string; name: string } };
    return owner.kind === "claim" ? owner : undefined;
  }
  if (metadata.annotations?.["holdfast.io/owner-kind"] !== "claim") return undefined;
  const [namespace = "", name = ""] = ((spec as { podref?: string }).podref ?? "").split("/");
  return { namespace, name };
}

async function listed(client: KubeClient, resource: Resource<AnyObject>): Promise<AnyObject[]> {
  try {
    return (await client.list(resource)).items;
  } catch (error) {
    if (isApiError(error, "not-found")) return [];
    throw error;
  }
}
