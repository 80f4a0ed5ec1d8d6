// Which option goes into which field when all do not fit into the first (RFC 2131 section 4.1, RFC 2132 section 9.3). The rare path.
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
  /** Had room nowhere. The list is in the order of importance, so these are the least important that are large. */
  readonly leftOut: readonly number[];
}

/** What stands in the two fields while they have no options. An option says the same once they do. */
export interface BootTexts {
  readonly file?: Uint8Array | undefined;
  readonly sname?: Uint8Array | undefined;
}

/** Code, length and value of option 52. */
export const overloadOptionBytes = 3;

/**
 * Each option whole into the first field that has room for it. `room` is that of the options field, without END. An option is cut only
 * where it is longer than 255 bytes and so cut anyway: not every client puts pieces together.
 */
export function place(options: readonly RawOption[], room: number, texts: BootTexts): Placement {
  const withFile = attempt(withText(options, code.bootFileName, texts.file), room, 1);
  if (withFile.leftOut.length === 0) return withFile;
  const all = withText(withText(options, code.bootFileName, texts.file), code.tftpServerName, texts.sname);
  return attempt(all, room, 3);
}

function attempt(options: readonly RawOption[], room: number, overload: 1 | 3): Placement {
  // One byte of each field is its END.
  const rooms = [room - overloadOptionBytes, fileBytes - 1, overload === 3 ? snameBytes - 1 : 0];
  const fields: RawOption[][] = [[], [], []];
  const leftOut: number[] = [];
  for (const option of options) {
    const whole = rooms.findIndex((left) => wireBytes(option.data.length) <= left);
    const pieces = whole < 0 ? piecesOf(option, rooms) : [{ field: whole, option }];
    if (pieces.length === 0) leftOut.push(option.code);
    for (const piece of pieces) {
      rooms[piece.field]! -= wireBytes(piece.option.data.length);
      fields[piece.field]!.push(piece.option);
    }
  }
  return { overload, inOptions: fields[0]!, inFile: fields[1]!, inSname: fields[2]!, leftOut };
}

interface Piece {
  readonly field: number;
  readonly option: RawOption;
}

/** A long option over what is left of the fields, in the order in which they are put together again; empty where it does not fit. */
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

function withText(options: readonly RawOption[], textCode: number, data: Uint8Array | undefined): readonly RawOption[] {
  if (data === undefined || options.some((option) => option.code === textCode)) return options;
  return [...options, { code: textCode, data }];
}
