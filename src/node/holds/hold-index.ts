// This node's holds, in memory: by place (namespace, domain, address) and by attachment. Only this daemon takes for
// this node, so holds that it has listed once and written since are all there are. Not promised: that a hold is still
// there; the leader may have collected it. Whoever acts on an entry writes with its version.
import type { RecordedHold } from "../../cluster/recorded-hold.ts";
import type { Attachment } from "../../cni/attachments.ts";
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { type Owner, sameOwner } from "../../ipam/owner.ts";
import { MultiMap } from "../../kube/cache/multi-map.ts";
import type { Address } from "../../net/address.ts";
import { attachmentKey } from "../request/attachment.ts";

export interface AddressPlace {
  readonly namespace: string;
  readonly domain: Domain;
  readonly address: Address | string;
}

export type PlaceKey = string;

export function placeKey({ namespace, domain, address }: AddressPlace): PlaceKey {
  return `${namespace} ${domain} ${address}`;
}

export class HoldIndex {
  readonly #entries = new Map<PlaceKey, RecordedHold>();
  /** Only holds that a sandbox uses: a parked one has none. */
  readonly #byAttachment = new MultiMap<PlaceKey>();
  /** Places that changed, for lists that are under way: one at a time, as a rule. */
  readonly #followers = new Set<Set<PlaceKey>>();

  get size(): number {
    return this.#entries.size;
  }

  put(entry: RecordedHold): void {
    const key = placeKey(placeOf(entry));
    this.#remove(key);
    this.#entries.set(key, entry);
    this.#note(key);
    const attachment = attachmentOf(entry.hold);
    if (attachment !== undefined) this.#byAttachment.add(attachmentKey(attachment), key);
  }

  delete(place: AddressPlace): void {
    const key = placeKey(place);
    this.#remove(key);
    this.#note(key);
  }

  get(place: AddressPlace): RecordedHold | undefined {
    return this.#entries.get(placeKey(place));
  }

  ofAttachment(attachment: Attachment): RecordedHold[] {
    return this.#byAttachment.get(attachmentKey(attachment)).map((key) => this.#entries.get(key)!);
  }

  /** For the pool that is made of them; a node holds some hundred. */
  ofDomain(namespace: string, domain: Domain): RecordedHold[] {
    return [...this.#entries.values()].filter((each) => each.namespace === namespace && each.hold.domain === domain);
  }

  ofOwner(owner: Owner): RecordedHold[] {
    return [...this.#entries.values()].filter(({ hold }) => sameOwner(hold.owner, owner));
  }

  all(): IterableIterator<RecordedHold> {
    return this.#entries.values();
  }

  /** The places that are put or deleted from now on: a list begins with it. */
  follow(): Disposable & { readonly places: ReadonlySet<PlaceKey> } {
    const places = new Set<PlaceKey>();
    this.#followers.add(places);
    return { places, [Symbol.dispose]: () => void this.#followers.delete(places) };
  }

  /** After a new list: a place that was put or deleted since it began (`newer`) stays as it is. */
  replace(entries: Iterable<RecordedHold>, newer: ReadonlySet<PlaceKey>): void {
    const before = new Set(newer);
    for (const key of this.#entries.keys()) if (!before.has(key)) this.#remove(key);
    for (const entry of entries) if (!before.has(placeKey(placeOf(entry)))) this.put(entry);
  }

  #note(key: PlaceKey): void {
    for (const places of this.#followers) places.add(key);
  }

  #remove(key: PlaceKey): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    const attachment = attachmentOf(entry.hold);
    if (attachment !== undefined) this.#byAttachment.delete(attachmentKey(attachment), key);
  }
}

export function placeOf({ namespace, hold: { domain, address } }: RecordedHold): AddressPlace {
  return { namespace, domain, address };
}

/** Undefined where no sandbox uses the hold, or its owner is no pod. */
export function attachmentOf({ owner }: Pick<Hold, "owner">): Attachment | undefined {
  if (owner.kind !== "pod" || owner.containerId === undefined || owner.containerId === "") return undefined;
  return { containerId: owner.containerId, interfaceName: owner.interface };
}
