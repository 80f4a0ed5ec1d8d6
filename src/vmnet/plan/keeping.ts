// How long addresses outlive their VM: the annotation keep-addresses, and what is noted with a hold that is kept. Pure.
// A word that cannot be read counts as `true`: an address that is kept too long can be freed, a lost one is gone.
import type { HoldNote } from "../../ipam/ledger.ts";

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A hundred years: `true`. */
const foreverMs = 36_525 * 86_400_000;

/** 0: they are not kept. */
export function keptForMs(text: string | undefined): number {
  const word = text?.trim().toLowerCase() ?? "";
  if (["", "false", "no", "0"].includes(word)) return 0;
  const [, count = "", unit = ""] = /^(\d{1,9})([smhd])$/.exec(word) ?? [];
  return count === "" ? foreverMs : Math.min(Number(count) * unitsMs[unit]!, foreverMs);
}

export function keptNote(note: HoldNote | undefined, vm: string, forMs: number, nowMs: number): HoldNote {
  const vouched = `${Math.ceil(forMs / 1000)} ${new Date(nowMs).toISOString()}`;
  return { ...note, keeper: `vm/${vm}`, vouched };
}

/** It is kept for a VM of this name that may come; undefined: it is not, or no longer. */
export function keptUntilMs(note: HoldNote | undefined): number | undefined {
  if (note?.keeper === undefined) return undefined;
  const [seconds = "", since = ""] = (note.vouched ?? "").split(" ");
  const untilMs = Date.parse(since) + Number(seconds) * 1000;
  // A note that was cut off says nothing of its end: it is kept until somebody looks into it.
  return Number.isNaN(untilMs) ? Number.POSITIVE_INFINITY : untilMs;
}

/** Of a hold whose VM has come again. */
export function unkeptNote(kept: HoldNote = {}): HoldNote {
  const { keeper: _, vouched: __, ...note } = kept;
  return note;
}
