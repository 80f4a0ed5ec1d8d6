// A VM, or a VMI without one, as an owner of claims: its UID, its NICs, its pods, what it has on a NIC already, and
// which addresses it could get there. Pure.
import { homeOf } from "../../api/claims/claim-family.ts";
import {
  claimName,
  identityOf,
  ownershipOf,
  swappedClaimName,
  upstreamClaimName,
} from "../../api/claims/claim-marks.ts";
import { definitionKeyOf } from "../../api/claims/kubevirt.ts";
import { launchedBy } from "../../api/claims/launcher-pod.ts";
import { tryAddress } from "../../api/holds/address-name.ts";
import { hasEnded, type Pod, type StoredClaim } from "../../cluster/resources.ts";
import type { Hold, HoldUser } from "../../ipam/ledger.ts";
import { describeOwner } from "../../ipam/owner.ts";
import { type ObjectName, parseKey } from "../../kube/meta.ts";
import type { ListedHold } from "../../ledger/reservation/list-holds.ts";
import type { Address } from "../../net/address.ts";
import { launcherPodOf } from "../leader/launchers.ts";
import { type Life, livesOf } from "../plan/owners.ts";
import { describeClaim, type Move, nicOfClaim } from "./move.ts";
import type { SnapshotIndex } from "./snapshot.ts";

export interface NewOwner extends Life {
  readonly namespace: string;
  readonly name: string;
  /** `nic`: the network's name in the VM's spec. `definition`: namespace/name. */
  readonly nics: readonly { readonly nic: string; readonly definition: string }[];
}

/** Undefined: there is no such VM, and no VMI without one. */
export function newOwnerOf(
  { snapshot: { machines, instances }, places }: SnapshotIndex,
  { namespace = "", name }: ObjectName,
): NewOwner | undefined {
  const vm = machines.get(`${namespace}/${name}`);
  const vmi = instances.get(`${namespace}/${name}`);
  const [life] = livesOf({ ...(vm && { vm }), ...(vmi && { vmi }) });
  if (life === undefined || life.phase === "gone") return undefined;
  const { networks = [] } = life.vm?.spec?.template?.spec ?? life.vmi?.spec ?? {};
  const nics = networks.flatMap((network) => {
    const definition = network.pod === undefined ? definitionKeyOf(network, namespace) : places.primaryIn(namespace);
    return definition === undefined || network.multus?.default === true ? [] : [{ nic: network.name, definition }];
  });
  return { ...life, namespace, name, nics };
}

export function livingOwnerOf(books: SnapshotIndex, claim: StoredClaim): NewOwner | undefined {
  const ownership = ownershipOf(claim);
  const target = newOwnerOf(books, parseKey(homeOf(claim)));
  return ownership.kind === "owned" && target?.uid === ownership.uid ? target : undefined;
}

/** Launcher pods of the target that have not ended, and have the NIC. */
export function usersOf({ snapshot: { pods } }: SnapshotIndex, target: NewOwner, nic: string): HoldUser[] {
  const { namespace, vm, vmi } = target;
  if (vmi === undefined) return [];
  const { uid: instance } = vmi.metadata;
  const spec = vmi.spec ?? vm?.spec?.template?.spec ?? {};
  return [...pods.values()]
    .filter(
      (pod) => pod.metadata.namespace === namespace && !hasEnded(pod) && launchedBy(pod.metadata)?.uid === instance,
    )
    .map((pod) => launcherPodOf(pod, { specs: [spec], nics: [nic] }))
    .filter(({ nics }) => nics.some((each) => each.nic === nic))
    .map(({ uid, name, node }) => ({ uid, name, node }));
}

/** Of the pods that a hold lists, those that are there and have not ended. */
export function livingUsers({ snapshot: { pods } }: SnapshotIndex, { owner: { namespace }, users = [] }: Hold): Pod[] {
  return users.flatMap(({ uid, name }) => {
    const pod = pods.get(`${namespace}/${name}`);
    return pod === undefined || pod.metadata.uid !== uid || hasEnded(pod) ? [] : [pod];
  });
}

export interface OwnClaim {
  readonly nic: string;
  /** namespace/name */
  readonly definition: string;
  /** The name in the CNI configuration. */
  readonly network: string;
  /** Undefined: it has none yet. */
  readonly claim?: StoredClaim;
  readonly holds: readonly ListedHold[];
}

/** A sentence where the VM can have nothing on this NIC. */
export function ownClaimOf(books: SnapshotIndex, target: NewOwner, nic: string): OwnClaim | string {
  const { namespace, name, uid } = target;
  const definition = target.nics.find((each) => each.nic === nic)?.definition;
  if (definition === undefined) {
    const has = target.nics.map((each) => each.nic).join(", ") || "none";
    return `${target.kind} ${namespace}/${name} has no network ${nic} of a definition (it has: ${has}): add it to its spec first`;
  }
  const persistence = books.places.persistence.get(definition);
  if (persistence === undefined) return `there is no NetworkAttachmentDefinition ${definition}: make it first`;
  const { network } = persistence;
  const names = ownNames(target, network);
  const claim = books
    .claimsOf(uid)
    .find(
      (each) =>
        each.metadata.namespace === namespace && each.spec.network === network && nicOfClaim(each, names) === nic,
    );
  if (claim?.metadata.deletionTimestamp !== undefined) {
    return `${describeClaim(claim)} is being deleted: wait until it is gone`;
  }
  const holds = new Set([
    ...books.heldAs(identityOf(uid, nic)),
    ...(claim === undefined ? [] : books.heldFor(claim.metadata.uid ?? "")),
  ]);
  return { nic, definition, network, ...(claim && { claim }), holds: [...holds] };
}

/** Names of claims -> the NIC that they would be for, where nothing is recorded. */
export function ownNames({ name, nics }: NewOwner, network: string): Map<string, string> {
  return new Map(
    nics.flatMap(({ nic }) => [
      [upstreamClaimName(name, nic), nic] as const,
      [swappedClaimName(name, nic, network), nic] as const,
      [claimName(name, nic), nic] as const,
    ]),
  );
}

/** `status.ips`: addresses with the length of their network. A sentence where one cannot be read. */
export function readIps(ips: readonly string[]): Address[] | string {
  const read = ips.map((text) => tryAddress(text.split("/")[0]!));
  const bad = read.indexOf(undefined);
  return bad < 0 ? (read as Address[]) : `${JSON.stringify(ips[bad])} is no address: correct the status`;
}

/** Addresses not yet the claim's: to take, or passed on by `users`, its VM's pods from before claims. Text: why not. */
export function obtainable(
  books: SnapshotIndex,
  own: OwnClaim,
  addresses: readonly Address[],
  { known = [], users = [] }: { readonly known?: readonly ListedHold[]; readonly users?: readonly HoldUser[] } = {},
): Pick<Move, "pass" | "take"> | string {
  const has = new Set([...known, ...own.holds].map(({ hold }) => `${hold.address}`));
  const pass: Move["pass"][number][] = [];
  const take: Move["take"][number][] = [];
  for (const address of addresses) {
    if (has.has(`${address}`)) continue;
    has.add(`${address}`);
    const placing = books.places.of([own.definition], address);
    if (placing.kind === "nowhere") return placing.why;
    if (placing.kind === "theirs") continue;
    const held = books.holderAt(placing.place, address);
    const owner = held?.hold.owner;
    if (held === undefined) take.push({ place: placing.place, address });
    else if (owner?.kind === "pod" && users.some(({ uid }) => uid === owner.uid))
      pass.push({ held, part: placing.place.part });
    else return heldBy(address, held);
  }
  return { pass, take };
}

export function heldBy(address: Address, { hold }: ListedHold): string {
  return `${address} is held for ${describeOwner(hold.owner)} (holdfast who ${address}): one address cannot be two owners'`;
}
