// Holds of NICs as rows of numbers: 100,000 of them are 14 MiB with their index, as objects 42 without. Promised: what
// comes out of a row is what was put into it, but for what nobody here reads of its note; one row for each address of a
// domain.
import {
  hashAddress,
  isSameAddress,
  packAddress,
  type PackedAddress,
  unpackAddress,
} from "../../../ipam/allocation-table.ts";
import type { Domain, HoldNote } from "../../../ipam/ledger.ts";
import { hashText, SlotIndex } from "../../../ipam/slot-index.ts";
import { picked } from "../../../kube/meta.ts";
import type { Address } from "../../../net/address.ts";
import type { NicHold } from "../../plan/nic-hold.ts";
import { NicOwners } from "./nic-owners.ts";
import { Versions } from "./versions.ts";

/** What very many holds have in common. */
interface Place {
  readonly domain: Domain;
  readonly note: HoldNote;
}

export class HoldRows {
  readonly owners = new NicOwners();
  /** Row -> address; undefined: an unused row. */
  readonly #addresses: (PackedAddress | undefined)[] = [];
  readonly #places: number[] = [];
  readonly #owners: number[] = [];
  readonly #versions = new Versions();
  /** Row -> the hold, where the numbers do not say it all: it cools, it has users, its note or version is unusual. */
  readonly #whole = new Map<number, NicHold>();
  readonly #coolingRows = new Set<number>();
  readonly #unused: number[] = [];
  readonly #byAddress = new SlotIndex();
  /** As many as there are pools and networks, and have been. */
  readonly #shared: Place[] = [];
  /** `DOMAIN POOL` -> its place. */
  readonly #placeOf = new Map<string, number>();

  get size(): number {
    return this.#addresses.length - this.#unused.length;
  }

  get coolingCount(): number {
    return this.#coolingRows.size;
  }

  /** -1: there is none. */
  find(domain: Domain, address: Address): number {
    const packed = packAddress(address);
    return this.#byAddress.find(
      hashOf(domain, address),
      (row) => isSameAddress(this.#addresses[row]!, packed) && this.domainOf(row) === domain,
    );
  }

  /** In place of what its address had. Returns its row. */
  put(hold: NicHold): number {
    const known = this.find(hold.domain, hold.address);
    const row = known >= 0 ? known : (this.#unused.pop() ?? this.#addresses.length);
    const owner = this.owners.keep(hold.owner)!;
    if (known >= 0) this.owners.drop(this.#owners[row]!);
    else {
      this.#addresses[row] = packAddress(hold.address);
      this.#byAddress.add(hashOf(hold.domain, hold.address), row);
    }
    this.#owners[row] = owner;
    this.#places[row] = this.#shareOf(hold);
    const note = readOf(hold.note);
    const isPlain = Object.keys(note).every((field) => field === "pool") && !hold.users && !hold.cooling;
    const isPacked = this.#versions.set(row, hold.version) && isPlain;
    if (isPacked) this.#whole.delete(row);
    else this.#whole.set(row, { ...hold, note });
    if (hold.cooling === undefined) this.#coolingRows.delete(row);
    else this.#coolingRows.add(row);
    return row;
  }

  delete(row: number): void {
    this.#byAddress.delete(hashOf(this.domainOf(row), this.addressOf(row)), row);
    this.owners.drop(this.#owners[row]!);
    this.#addresses[row] = undefined;
    this.#whole.delete(row);
    this.#coolingRows.delete(row);
    this.#unused.push(row);
  }

  /** Made anew at each call. */
  hold(row: number): NicHold {
    const whole = this.#whole.get(row);
    if (whole !== undefined) return whole;
    const { domain, note } = this.#shared[this.#places[row]!]!;
    const owner = this.owners.get(this.#owners[row]!);
    return { domain, address: this.addressOf(row), owner, version: this.versionOf(row), note };
  }

  addressOf(row: number): Address {
    return unpackAddress(this.#addresses[row]!);
  }

  domainOf(row: number): Domain {
    return this.#shared[this.#places[row]!]!.domain;
  }

  poolOf(row: number): string | undefined {
    return this.#shared[this.#places[row]!]!.note.pool;
  }

  versionOf(row: number): string {
    return this.#whole.get(row)?.version ?? this.#versions.get(row);
  }

  isCooling(row: number): boolean {
    return this.#coolingRows.has(row);
  }

  familyOf(row: number): Address["family"] {
    return typeof this.#addresses[row] === "number" ? 4 : 6;
  }

  /** Also while rows come and go: then one that came or went may be among them or not. */
  *rows(): IterableIterator<number> {
    for (let row = 0; row < this.#addresses.length; row++) if (this.#addresses[row] !== undefined) yield row;
  }

  /** Rows of what cools: without a look at the others. */
  cooling(): Iterable<number> {
    return this.#coolingRows;
  }

  #shareOf({ domain, note }: NicHold): number {
    const key = `${domain} ${note?.pool ?? ""}`;
    const known = this.#placeOf.get(key);
    if (known !== undefined) return known;
    const place = this.#shared.push({ domain, note: picked(note ?? {}, "pool") }) - 1;
    this.#placeOf.set(key, place);
    return place;
  }
}

/** Of a note, what is read here. */
function readOf(note: HoldNote = {}): HoldNote {
  return picked(note, "pool", "keeper", "vouched");
}

/** Many networks have the same addresses. */
function hashOf(domain: Domain, address: Address): number {
  return hashText(domain, hashAddress(address));
}
