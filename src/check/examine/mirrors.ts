// The addresses of slices: mirrors against each other, against the reservation ledger, and against running pods. Pure.
// A mirror is a second behind its node's journal, which is the arbiter: nothing here is repaired from outside.
import { mayLackMirror } from "../../api/holds/pod-uid.ts";
import { parseDomain } from "../../api/pools/domain.ts";
import { blocksOf } from "../../api/slices/slice-grant.ts";
import { describeOwner, type Owner, ownerKey } from "../../ipam/owner.ts";
import type { Address } from "../../net/address.ts";
import { counted } from "../../net/counted.ts";
import { NetError } from "../../net/error.ts";
import { includes, parseBlock } from "../../net/interval.ts";
import { contains, Prefix } from "../../net/prefix.ts";
import { isOwners } from "../../pools/leaks/judge.ts";
import { podFactsOf } from "../../pools/leaks/live-facts.ts";
import { networkOf } from "../../pools/membership.ts";
import type { NetworkUse } from "../../pools/networks.ts";
import { describeHeld, type PoolHold } from "../../pools/pool-hold.ts";
import { type Finding, finding, found, named } from "../finding.ts";
import type { SliceView } from "../slices/slice-view.ts";
import { stateOf } from "../slices/table.ts";
import type { Snapshot } from "../snapshot.ts";
import { gatewaysHeld } from "./holds.ts";
import { isSamePod, isSliced, type UsedAddress, usedAddresses } from "./pods.ts";

export function examineMirrors(snapshot: Snapshot): Finding[] {
  if (snapshot.slices.slices.length === 0 && snapshot.networks.sliced.length === 0) return [];
  const { places, clashes } = placesOf(snapshot.slices.slices);
  return [
    ...clashes,
    ...sharedHolds(snapshot, places),
    ...podsWithout(snapshot, places),
    ...gateways(snapshot, places),
    ...snapshot.slices.slices.flatMap((slice) => entriesWithoutPod(snapshot, slice)),
  ];
}

interface Entry {
  readonly slice: SliceView;
  readonly address: Address;
  readonly owner: Owner;
}

/** Key: namespace, network, address. */
type Places = ReadonlyMap<string, Entry>;

function placeOf(namespace: string, network: string, address: Address): string {
  return `${namespace} ${network} ${address}`;
}

function placesOf(slices: readonly SliceView[]): { readonly places: Places; readonly clashes: Finding[] } {
  const places = new Map<string, Entry>();
  const clashes: Finding[] = [];
  for (const slice of slices) {
    for (const { address, owner } of slice.entries) {
      const place = placeOf(slice.namespace, slice.network, address);
      const before = places.get(place);
      if (before === undefined) places.set(place, { slice, address, owner });
      else clashes.push(clash(before, { slice, address, owner }));
    }
  }
  return { places, clashes };
}

function clash(a: Entry, b: Entry): Finding {
  return finding("two-owners", "error", [`IPPool ${a.slice.key}`, `IPPool ${b.slice.key}`], {
    message: `${a.address} is held on two nodes: ${describeOwner(a.owner)} on ${a.slice.node}, ${describeOwner(b.owner)} on ${b.slice.node}.`,
    remedy:
      "Delete one of the two pods; its successor gets another address. Then look for slices-overlap and slice-unassigned here.",
  });
}

/** A slice must know the holds inside it that are not its own, or its node gives their addresses to another. */
function sharedHolds(snapshot: Snapshot, places: Places): Finding[] {
  const around = slicesAround(snapshot.slices.slices);
  return snapshot.held.flatMap((held): Finding[] => {
    const { hold, namespace, cooling } = held;
    if (cooling !== undefined) return [];
    const network = networkOfHeld(snapshot, held);
    const entry = places.get(placeOf(namespace, network, hold.address));
    // A draining node writes the reservation, then drops its own record.
    if (entry !== undefined && ownerKey(entry.owner) === ownerKey(hold.owner)) return [];
    if (entry !== undefined) return [heldTwice(held, entry)];
    return around(namespace, network, hold.address)
      .filter((slice) => handsOut(slice, hold.address))
      .map((slice) => notTaken(held, slice));
  });
}

function networkOfHeld({ index }: Snapshot, { hold, namespace }: PoolHold): string {
  const domain = parseDomain(hold.domain);
  if (domain.scope === "network") return domain.network;
  const pool = index.of(hold, namespace)[0];
  return pool === undefined ? "" : networkOf(pool);
}

function handsOut(slice: SliceView, address: Address): boolean {
  const { grant } = slice;
  if (grant === undefined || stateOf(slice) !== "active") return false;
  return !blocksOf(grant.without).some((block) => contains(block, address)) && !isTaken(grant.taken, address);
}

function isTaken(taken: readonly string[], address: Address): boolean {
  return taken.some((text) => {
    try {
      return includes(parseBlock(text), address);
    } catch (error) {
      if (error instanceof NetError) return false;
      throw error;
    }
  });
}

function heldTwice(held: PoolHold, { slice, address, owner }: Entry): Finding {
  return finding("two-owners", "error", [`IPPool ${slice.key}`, describeHeld(held)], {
    message: `${address} has two owners: ${describeOwner(owner)} by slice ${slice.block} of node ${slice.node}, ${describeOwner(held.hold.owner)} by its hold.`,
    remedy: "See which pod uses it (network-status) and delete the other pod; its successor gets another address.",
  });
}

function notTaken(held: PoolHold, slice: SliceView): Finding {
  return finding("not-taken", "error", [describeHeld(held), `IPPool ${slice.key}`], {
    message: `${held.hold.address} is held for ${describeOwner(held.hold.owner)}, and the grant of slice ${slice.block} does not say so: node ${slice.node} may give it to another.`,
    remedy:
      "The controller writes it into the grant within seconds: is one running? Until then do not start pods on that node.",
  });
}

function podsWithout(snapshot: Snapshot, places: Places): Finding[] {
  const { uses, sliced } = snapshot.networks;
  const definitions = Map.groupBy([...sliced, ...uses], ({ definition }) => definition);
  const holds = Map.groupBy(
    snapshot.held.filter(({ cooling }) => cooling === undefined),
    ({ namespace, hold }) => `${namespace} ${hold.address}`,
  );
  return usedAddresses(snapshot.pods.values()).flatMap((used): Finding[] => {
    const use = definitions.get(used.definition)?.find(({ range }) => contains(range.prefix, used.address));
    if (use === undefined || !isOfSlices(snapshot, use, used.address)) return [];
    const entry = places.get(placeOf(use.namespace, use.identity.network, used.address));
    if (entry !== undefined && isSamePod(entry, used.pod)) return [];
    const held = holds.get(`${use.namespace} ${used.address}`) ?? [];
    if (held.some(({ hold }) => isSamePod(hold, used.pod))) return [];
    return [entry === undefined ? notHeld(used) : heldByAnother(used, entry)];
  });
}

/** A definition without node_slice_size is served from the slices too, where its range is a sliced one. */
function isOfSlices({ slices }: Snapshot, use: NetworkUse, address: Address): boolean {
  return use.range.sliceLength !== undefined || isSliced(slices.sliced, use, address);
}

function notHeld({ pod, words }: UsedAddress): Finding {
  const node = pod.spec?.nodeName ?? "";
  return finding("not-held", "error", [`Pod ${pod.metadata.namespace}/${pod.metadata.name}`], {
    message: `${words}, and no slice shows it: unless the journal of node ${node} has it, it may be given to another.`,
    remedy: `The node shows it within a second of hearing the API server (holdfast slices --node ${node}). If it stays, delete the pod: its successor gets an address that is held.`,
  });
}

function heldByAnother({ pod, words }: UsedAddress, { slice, owner }: Entry): Finding {
  const objects = [`Pod ${pod.metadata.namespace}/${pod.metadata.name}`, `IPPool ${slice.key}`];
  return finding("held-by-another", "error", objects, {
    message: `${words}, and ${describeOwner(owner)} holds it on node ${slice.node}: two may use one address.`,
    remedy: "Delete one of the two pods; its successor gets another address.",
  });
}

function gateways({ networks }: Snapshot, places: Places): Finding[] {
  return gatewaysHeld(networks.sliced, ({ namespace, identity }, gateway) => {
    const { slice, owner } = places.get(placeOf(namespace, identity.network, gateway)) ?? {};
    return (
      slice &&
      owner && { object: `IPPool ${slice.key}`, words: `${describeOwner(owner)} holds it on node ${slice.node}` }
    );
  });
}

function entriesWithoutPod({ pods }: Snapshot, slice: SliceView): Finding[] {
  const gone = slice.entries.filter(({ owner }) => {
    if (owner.kind !== "pod" || owner.namespace === "" || owner.name === "") return false;
    const pod = pods.get(`${owner.namespace}/${owner.name}`);
    const facts = pod && podFactsOf(pod);
    if (mayLackMirror(facts, owner)) return false;
    return facts === undefined || !isOwners(facts, owner);
  });
  if (gone.length === 0) return [];
  return found("entry-without-pod", "info", [`IPPool ${slice.key}`], {
    message: `${counted(gone.length, "address")} of slice ${slice.block} held on node ${slice.node} for pods that are gone: ${named(gone.map(({ address, owner }) => `${address} for ${describeOwner(owner)}`))}.`,
    remedy: `Its daemon gives them back when their sandboxes are gone; if they stay, see its log on node ${slice.node}.`,
  });
}

/** Every slice that spans an address, pieces first: made once, asked for every hold. */
function slicesAround(slices: readonly SliceView[]) {
  /** namespace, network, block -> slices; more than one only where something is wrong, or a whole slice was lent on. */
  const byBlock = Map.groupBy(slices, ({ namespace, network, block }) => blockKey(namespace, network, block));
  /** Lengths that occur, the longest first; at most 129. */
  const lengths = [...new Set(slices.map(({ block }) => block.length))].toSorted((a, b) => b - a);
  return (namespace: string, network: string, address: Address): SliceView[] => {
    const bits = address.family === 4 ? 32 : 128;
    return lengths
      .filter((length) => length <= bits)
      .flatMap((length) => byBlock.get(blockKey(namespace, network, Prefix.around(address, length))) ?? []);
  };
}

function blockKey(namespace: string, network: string, block: Prefix): string {
  return `${namespace} ${network} ${block}`;
}
