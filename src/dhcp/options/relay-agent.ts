// The relay agent information option (RFC 3046 section 2.0): sub-options that a relay adds and gets back unchanged.
import { type Fault, fault } from "../fault.ts";
import { readUint } from "./bytes.ts";

export interface SubOption {
  readonly code: number;
  readonly data: Uint8Array;
}

export const subOption = {
  circuitId: 1,
  remoteId: 2,
  /** RFC 3527: an address of the link that the client is on, where giaddr is not one. */
  linkSelection: 5,
} as const;

const bad = fault("bad-value", "The relay agent information is empty, or ends within a sub-option.");

/** Each of at most 255 bytes. */
export function encodeSubOptions(subOptions: readonly SubOption[]): Uint8Array {
  return Uint8Array.from(subOptions.flatMap(({ code, data }) => [code, data.length, ...data]));
}

export function decodeSubOptions(bytes: Uint8Array): readonly SubOption[] | Fault {
  const subOptions: SubOption[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 2 + (bytes[at + 1] ?? bytes.length);
    if (end > bytes.length) return bad;
    subOptions.push({ code: bytes[at]!, data: bytes.slice(at + 2, end) });
    at = end;
  }
  return subOptions.length > 0 ? subOptions : bad;
}

/** The address of the link selection sub-option, without a list of all; undefined where there is none of four bytes. */
export function linkSelectionOf(bytes: Uint8Array): number | undefined {
  for (let at = 0; at + 2 <= bytes.length;) {
    const length = bytes[at + 1]!;
    const isWhole = at + 2 + length <= bytes.length;
    if (bytes[at] === subOption.linkSelection) return length === 4 && isWhole ? readUint(bytes, at + 2, 4) : undefined;
    at += 2 + length;
  }
  return undefined;
}
