// Who holds an address, or what a pod holds: lines for `holdfast who`. Pure.
import { machineOf } from "../api/claims/claim-family.ts";
import { nicOfIdentity } from "../api/claims/claim-marks.ts";
import { tryAddress } from "../api/holds/address-name.ts";
import { formatDomain } from "../api/pools/domain.ts";
import type { Hold, HoldUser } from "../ipam/ledger.ts";
import { describeOwner, type Owner } from "../ipam/owner.ts";
import { formatTime } from "../ipam/trace.ts";
import type { Address } from "../net/address.ts";
import { attempt } from "../net/coded-error.ts";
import { NetError } from "../net/error.ts";
import { includes, type Interval, parseBlock } from "../net/interval.ts";
import { tryMac } from "../net/mac.ts";
import { describeHeld, type PoolHold } from "../pools/pool-hold.ts";
import { reasonWords } from "./reason.ts";
import type { SliceView } from "./slices/slice-view.ts";
import type { LedgerSnapshot } from "./snapshot.ts";

export type Asked =
  | { readonly address: Address }
  /** All that is held in it. */
  | { readonly block: Interval }
  /** Lower case, with colons. */
  | { readonly mac: string }
  | { readonly namespace: string; readonly name: string };

/** An address, a CIDR or A-B, a MAC, namespace/pod, or a pod of the namespace `default`. Throws a NetError. */
export function parseAsked(text: string): Asked {
  const address = tryAddress(text);
  if (address !== undefined) return { address };
  const mac = tryMac(text);
  if (mac !== undefined) return { mac };
  const block = attempt(NetError, () => parseBlock(text));
  if (block !== undefined) return { block };
  // No namespace begins like this, and only addresses have colons: the parser says what is wrong with it.
  if (numeric.test(text)) return { block: parseBlock(text) };
  const [first = "", second] = text.split("/");
  return second === undefined ? { namespace: "default", name: first } : { namespace: first, name: second };
}

const numeric = /^(\d+\.[\d./-]*|[0-9a-fA-F]*:[0-9a-fA-F:./-]*)$/;

export interface Answer {
  readonly address: string;
  readonly domain: string;
  readonly owner: string;
  readonly uid: string;
  readonly state: "held" | "cooling";
  readonly since: string;
  /** While it cools: somebody else may have it from then on. */
  readonly until: string;
  readonly node: string;
  readonly object: string;
  readonly pools: readonly string[];
  /** The slice of the node that handed it out, as its mirror shows it; empty: it is of a shared pool. */
  readonly slice: string;
  readonly keeper: string;
  /** Of a claim: its VM, as namespace/name; empty otherwise. */
  readonly vm: string;
  /** Of a claim: what it is for, as OWNER-UID/NIC; empty: it has no owner, or it is no claim's. */
  readonly identity: string;
  /** Of a claim: the pods that use it, each as `namespace/name on NODE`. */
  readonly users: readonly string[];
  /** Of a VM's NIC; empty: not recorded. */
  readonly mac: string;
  readonly why: string;
}

export function whoHolds({ held, index, slices, claims }: LedgerSnapshot, asked: Asked): Answer[] {
  const vmOf = ({ kind, uid, namespace, name }: Owner) => {
    const claim = claims.get(uid);
    // A network config has the name of its VM.
    if (kind === "nic") return name;
    return kind === "claim" ? machineOf(claim ?? { metadata: { namespace, name } }, claim === undefined) : "";
  };
  return [
    ...held
      .filter(({ cooling }) => !("name" in asked) || cooling === undefined)
      .map((each) => ({ each, vm: vmOf(each.hold.owner) }))
      .filter(({ each, vm }) => isAsked(each.hold, asked, vm))
      .map(({ each, vm }) => answerOf(each, index.of(each.hold, each.namespace), vm)),
    ...slices.slices.flatMap((slice) =>
      slice.entries.filter((entry) => isAsked(entry, asked)).map((entry) => answerOfSlice(slice, entry)),
    ),
  ];
}

/** A pod has what it holds itself, and what a claim holds for it; a VM has what its claims hold. */
function isAsked(hold: Pick<Hold, "address" | "owner" | "users" | "note">, asked: Asked, vm = ""): boolean {
  const { address, owner, users = [] } = hold;
  if ("address" in asked) return address.toString() === asked.address.toString();
  if ("block" in asked) return includes(asked.block, address);
  if ("mac" in asked) return macOf(hold) === asked.mac;
  const names = [owner.name, vm, ...users.map(({ name }) => name)];
  return owner.namespace === asked.namespace && names.includes(asked.name);
}

function macOf({ owner, note }: Pick<Hold, "owner" | "note">): string {
  return owner.kind === "nic" ? owner.nic : (note?.mac ?? "");
}

const unsaid = {
  state: "held",
  since: "",
  until: "",
  keeper: "",
  vm: "",
  identity: "",
  users: [],
  mac: "",
  why: "",
} as const;

/** A mirror does not say since when, nor why: the node's journal does. */
function answerOfSlice(slice: SliceView, { address, owner }: SliceView["entries"][number]): Answer {
  const { namespace, pool, node, block, key } = slice;
  return {
    ...unsaid,
    address: address.toString(),
    domain: formatDomain({ scope: "slice", namespace, name: pool }),
    owner: describeOwner(owner),
    uid: owner.uid,
    node,
    object: `IPPool ${key}`,
    pools: [`${namespace}/${pool}`],
    slice: block.toString(),
  };
}

function answerOf(held: PoolHold, pools: readonly { readonly key: string }[], vm: string): Answer {
  const { hold, cooling, createdMs, node } = held;
  return {
    address: hold.address.toString(),
    domain: hold.domain,
    owner: describeOwner(hold.owner),
    uid: hold.owner.uid,
    state: cooling === undefined ? "held" : "cooling",
    since: createdMs === undefined ? "" : new Date(createdMs).toISOString(),
    until: cooling === undefined ? "" : formatTime(cooling.untilMs),
    node,
    object: describeHeld(held),
    pools: isOfVms(hold) ? [hold.note?.pool ?? ""].filter(Boolean) : pools.map(({ key }) => key),
    slice: "",
    keeper: hold.note?.keeper ?? "",
    vm: vm === "" ? "" : `${hold.owner.namespace}/${vm}`,
    identity: hold.note?.identity ?? "",
    users: cooling === undefined ? (hold.users ?? []).map((user) => describeUser(hold.owner.namespace, user)) : [],
    mac: macOf(hold),
    why: hold.note?.why ?? "",
  };
}

function isOfVms({ domain }: Pick<Hold, "domain">): boolean {
  return domain.startsWith("vm-network:");
}

function describeUser(namespace: string, { name, node }: HoldUser): string {
  return name === "" ? "somebody who cannot be read" : `${namespace}/${name} on ${node}`;
}

export function answerLines(answer: Answer): string[] {
  const {
    address,
    domain,
    owner,
    state,
    since,
    until,
    node,
    object,
    pools,
    slice,
    keeper,
    why,
    uid,
    vm,
    identity,
    users,
    mac,
  } = answer;
  const nic = nicOfIdentity(identity);
  const network = domain
    .replace(/^network:$/, "the network without a name")
    .replace(/^network:/, "network ")
    .replace(/^slice:/, "the sliced range ")
    .replace(/^vm-network:/, "VM network ");
  const facts: readonly (readonly [string, string])[] = [
    ["object", object],
    [uidName(owner), uid],
    ["VM", vm === "" || nic === "" ? vm : `${vm}, its network ${nic}`],
    ["MAC", mac],
    ["used by", users.join(", ")],
    ["since", since],
    ["until", until],
    ["node", node],
    ["slice", slice],
    ["pool", pools.join(", ")],
    ["kept by", keeper],
    ["why", reasonWords(why)],
  ];
  const width = owner.startsWith("VM ") ? 12 : vm === "" ? 8 : 9;
  const head =
    state === "held"
      ? `${address} of ${network}: ${owner}`
      : `${address} of ${network}: nobody, it cools down after ${owner}`;
  return [head, ...facts.flatMap(([name, text]) => (text === "" ? [] : [`  ${name.padEnd(width)} ${text}`]))];
}

function uidName(owner: string): string {
  if (owner.startsWith("claim ")) return "claim UID";
  return owner.startsWith("VM ") ? "vmnetcfg UID" : "pod UID";
}
