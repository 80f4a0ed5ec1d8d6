// Which option goes into which field when the first is too small (RFC 2131 section 4.1, RFC 2132 section 9.3). Rare.
import { code } from "../options/codes.ts";
import { fileBytes, snameBytes } from "./header.ts";
import { wireBytes } from "./option-field.ts";

/** An option as it is sent. Data longer than 255 bytes is sent in pieces (RFC 3396). */
export interface RawOption {
  readonly code: number;
  readonly data: Uint8Array;
}

export interface Placement {
  /** 0: nothing but the options field; 1: file too; 3: file and sname. */
  readonly overload: 0 | 1 | 3;
  readonly inOptions: readonly RawOption[];
  readonly inFile: readonly RawOption[];
  readonly inSname: readonly RawOption[];
  /** The largest ones, because all had no room. */
  readonly leftOut: readonly number[];
}

/** What stands in the two fields while they have no options. An option says the same once they do. */
export interface BootTexts {
  readonly file?: Uint8Array | undefined;
  readonly sname?: Uint8Array | undefined;
}

const none: readonly RawOption[] = [];
/** Code, length and value of option 52. */
export const overloadOptionBytes = 3;

/** All in the options field: what every message is, but the rare one. */
export function placeAll(options: readonly RawOption[]): Placement {
  return { overload: 0, inOptions: options, inFile: none, inSname: none, leftOut: [] };
}

/**
 * Each option goes whole into the first field with room. `room` is that of the options field, without END. Only an
 * option longer than 255 bytes, cut anyway, is cut: not every client puts pieces together. Where all fields are too
 * small, the largest option is left out, then the next: a list of names that is too long costs no client its routes.
 */
export function place(
  options: readonly RawOption[],
  room: number,
  { file, sname, mayOverload }: BootTexts & { readonly mayOverload: boolean },
): Placement {
  const names: readonly RawOption[] = [
    ...nameOption(options, code.bootFileName, file),
    ...nameOption(options, code.tftpServerName, sname),
  ];
  const leftOut: number[] = [];
  const isKept = (option: RawOption) => !leftOut.includes(option.code);
  for (;;) {
    const kept = options.filter(isKept);
    const keptNames = names.filter(isKept);
    const withFile = [...kept, ...keptNames.filter((name) => name.code === code.bootFileName)];
    const all = [...kept, ...keptNames];
    const plain = attempt(kept, room, 0);
    const fields = mayOverload ? (plain ?? attempt(withFile, room, 1) ?? attempt(all, room, 3)) : plain;
    if (fields !== undefined) return { ...fields, leftOut };
    leftOut.push(
      (mayOverload ? all : kept).reduce((one, other) => (other.data.length >= one.data.length ? other : one)).code,
    );
  }
}

/** Undefined where an option has room nowhere. Nothing at all always has. */
function attempt(
  options: readonly RawOption[],
  room: number,
  overload: 0 | 1 | 3,
): Omit<Placement, "leftOut"> | undefined {
  const rooms = [
    overload === 0 ? room : room - overloadOptionBytes,
    // One byte of each field is its END.
    overload === 0 ? 0 : fileBytes - 1,
    overload === 3 ? snameBytes - 1 : 0,
  ];
  const fields: RawOption[][] = [[], [], []];
  for (const option of options) {
    const whole = rooms.findIndex((left) => wireBytes(option.data.length) <= left);
    const pieces = whole < 0 ? piecesOf(option, rooms) : [{ field: whole, option }];
    if (pieces.length === 0) return undefined;
    for (const piece of pieces) {
      rooms[piece.field]! -= wireBytes(piece.option.data.length);
      fields[piece.field]!.push(piece.option);
    }
  }
  return { overload, inOptions: fields[0]!, inFile: fields[1]!, inSname: fields[2]! };
}

interface Piece {
  readonly field: number;
  readonly option: RawOption;
}

/** A long option over the rest of the fields, in the order in which readers join them; empty where it does not fit. */
function piecesOf({ code: optionCode, data }: RawOption, rooms: readonly number[]): readonly Piece[] {
  if (data.length <= 255) return [];
  const pieces: Piece[] = [];
  let from = 0;
  for (const [field, room] of rooms.entries()) {
    for (let left = room; left > 2 && from < data.length;) {
      const piece = data.subarray(from, from + Math.min(255, left - 2));
      pieces.push({ field, option: { code: optionCode, data: piece } });
      from += piece.length;
      left -= piece.length + 2;
    }
  }
  return from === data.length ? pieces : [];
}

/** A name that makes room for options becomes one, if it is not one already. */
function nameOption(
  options: readonly RawOption[],
  nameCode: number,
  data: Uint8Array | undefined,
): readonly RawOption[] {
  return data === undefined || options.some((option) => option.code === nameCode) ? none : [{ code: nameCode, data }];
}
