// What a journal's lines say, as values, and their text: JSON, for a person to read when all else fails. Pure. A record
// says how things are from now on, not what changes: read twice, or after a snapshot that has it, it says the same.
import type { Domain, Hold, HoldKey, HoldNote } from "../../ipam/ledger.ts";
import type { Owner, OwnerKey } from "../../ipam/owner.ts";
import { parseAddress } from "../../net/address.ts";
import { orNone } from "../../net/or-none.ts";
import { type JournalGrant, readJournalGrant, writeJournalGrant } from "./grant.ts";

export interface HeadRecord {
  readonly op: "head";
  readonly id: string;
  /** So many lines after it are the snapshot, numbered from 1. */
  readonly lines: number;
  /** The number of the line after the snapshot. */
  readonly next: number;
  /** The greatest version that was ever given to a hold. */
  readonly versions: number;
  /** Holds up to this version may be older than what a damaged line said. 0: none was damaged. */
  readonly doubt: number;
}

export type JournalRecord =
  | HeadRecord
  | { readonly op: "hold"; readonly hold: Hold }
  /** Since when, by the wall clock, and how long it cools for all but its last owner. */
  | (HoldKey & {
      readonly op: "free";
      readonly atMs: number;
      readonly cooldownMs: number;
      readonly lastOwner: OwnerKey;
    })
  /** The hold is the reservation ledger's. */
  | (HoldKey & { readonly op: "move" })
  | { readonly op: "grant"; readonly grant: JournalGrant }
  | { readonly op: "drop"; readonly key: string }
  /** In a snapshot: the latest generation of the pool whose grant was dropped. */
  | { readonly op: "dropped"; readonly domain: Domain; readonly generation: number }
  | { readonly op: "renewed"; readonly wallMs: number };

export function placeOf(record: JournalRecord): HoldKey | undefined {
  if (record.op === "hold") return record.hold;
  return record.op === "free" || record.op === "move" ? record : undefined;
}

/** Of the format. A later one is refused rather than guessed at. */
const formatVersion = 1;

export function encodeRecord(record: JournalRecord): string {
  switch (record.op) {
    case "head": {
      const { op: _, ...rest } = record;
      return JSON.stringify({ j: formatVersion, ...rest });
    }
    case "hold": {
      const { domain, address, version, owner, note } = record.hold;
      return JSON.stringify({ h: address, d: domain, v: Number(version), o: ownerRow(owner), n: note });
    }
    case "free": {
      const { domain, address, atMs, cooldownMs, lastOwner } = record;
      return JSON.stringify({ f: address, d: domain, t: atMs, c: cooldownMs, o: lastOwner });
    }
    case "move":
      return JSON.stringify({ m: record.address, d: record.domain });
    case "grant":
      return JSON.stringify({ g: writeJournalGrant(record.grant) });
    case "drop":
      return JSON.stringify({ x: record.key });
    case "dropped":
      return JSON.stringify({ u: record.generation, d: record.domain });
    case "renewed":
      return JSON.stringify({ r: record.wallMs });
  }
}

/** Texts that many holds share are kept once: a million holds of ten domains. */
export type Intern = (text: string) => string;

/** The text and number of each key; `g` is a grant, `o` an owner, `n` a note. */
type Line = Partial<Record<"id" | "h" | "f" | "m" | "x" | "d", string>> &
  Partial<Record<"j" | "lines" | "next" | "versions" | "doubt" | "r" | "u" | "v" | "t" | "c", number>> & {
    readonly g?: Readonly<Record<string, unknown>>;
    readonly o?: unknown;
    readonly n?: HoldNote;
  };

/** Undefined: no record of this format. Its checksum was right, so it was written by something else. */
export function decodeRecord(text: string, intern: Intern): JournalRecord | undefined {
  try {
    return decode(JSON.parse(text) as Line, intern);
  } catch {
    return undefined;
  }
}

function decode(line: Line, intern: Intern): JournalRecord | undefined {
  if (line.h !== undefined) return { op: "hold", hold: holdOf(line, line.h, intern) };
  if (line.f !== undefined) {
    const { f, d = "", t = 0, c = 0, o } = line;
    const lastOwner = o as OwnerKey;
    return { op: "free", domain: intern(d), address: parseAddress(f), atMs: t, cooldownMs: c, lastOwner };
  }
  if (line.m !== undefined) return { op: "move", domain: intern(line.d ?? ""), address: parseAddress(line.m) };
  if (line.g !== undefined) return { op: "grant", grant: readJournalGrant(line.g) };
  if (line.x !== undefined) return { op: "drop", key: line.x };
  if (line.u !== undefined) return { op: "dropped", domain: intern(line.d ?? ""), generation: line.u };
  if (line.r !== undefined) return { op: "renewed", wallMs: line.r };
  if (line.j !== formatVersion || line.id === undefined) return undefined;
  const { id, lines = 0, next = 1, versions = 0, doubt = 0 } = line;
  return { op: "head", id, lines, next, versions, doubt };
}

/** The format of a head line that is no head of ours. */
export function foreignFormat(text: string): number | undefined {
  const { j } = orNone(() => JSON.parse(text) as Line) ?? {};
  return typeof j === "number" && j !== formatVersion ? j : undefined;
}

/** Each object is made once, in its last form: at a million holds, copies on the way are half of the time. */
function holdOf({ d = "", v = 0, o, n }: Line, text: string, intern: Intern): Hold {
  const domain = intern(d);
  const address = parseAddress(text);
  const owner = ownerOf(o as OwnerRow, intern);
  const version = String(v);
  if (n === undefined) return { domain, address, owner, version };
  const note = n.pool === undefined ? n : { ...n, pool: intern(n.pool) };
  return { domain, address, owner, version, note };
}

/** kind, uid, namespace, name, interface or NIC, container id, part; the end is left out where it is empty. */
type OwnerRow = readonly [Owner["kind"], string, string, string, string?, (string | null)?, number?];

function ownerRow(owner: Owner): OwnerRow {
  const row = [owner.kind, owner.uid, owner.namespace, owner.name] as const;
  if (owner.kind === "claim") return owner.part === undefined ? row : [...row, "", null, owner.part];
  if (owner.kind === "nic") return [...row, owner.nic];
  const { containerId, part } = owner;
  // An absent one is written as null, which an empty text is not.
  if (part !== undefined) return [...row, owner.interface, containerId ?? null, part];
  return containerId === undefined ? [...row, owner.interface] : [...row, owner.interface, containerId];
}

function ownerOf(row: OwnerRow, intern: Intern): Owner {
  const [kind, uid, , name, , containerId, part] = row;
  const namespace = intern(row[2]);
  const port = intern(row[4] ?? "");
  switch (kind) {
    case "claim":
      return part === undefined ? { kind, uid, namespace, name } : { kind, uid, namespace, name, part };
    case "nic":
      return { kind, uid, namespace, name, nic: port };
    case "pod":
      if (part !== undefined) {
        const container = typeof containerId === "string" ? { containerId } : {};
        return { kind, uid, namespace, name, interface: port, part, ...container };
      }
      if (typeof containerId !== "string") return { kind, uid, namespace, name, interface: port };
      return { kind, uid, namespace, name, interface: port, containerId };
    default:
      throw new TypeError("the owner is of no known kind");
  }
}
