// Client identifiers (RFC 2132 section 9.14), also of RFC 4361 with node and interface apart. A server compares
// all of the bytes and nothing else (RFC 2131 section 4.2); the parts are for people.
import { type Fault, fault } from "../fault.ts";
import { readUint, uintBytes } from "./bytes.ts";

export type ClientIdentifier =
  /** An address of that hardware type; 1 is Ethernet. */
  | { readonly kind: "hardware"; readonly htype: number; readonly address: Uint8Array }
  /** RFC 4361: which interface, and the DUID of the node (RFC 8415 section 11). */
  | { readonly kind: "node"; readonly iaid: number; readonly duid: Uint8Array }
  /** Type 0, or what fits none of the others. All of its bytes, with the type. */
  | { readonly kind: "opaque"; readonly bytes: Uint8Array };

const nodeType = 255;
/** Type, IAID, and a DUID of a type and at least one byte. */
const nodeBytesMin = 1 + 4 + 3;

const bad = fault("bad-value", "A client identifier has fewer than two bytes.");

export function encodeClientIdentifier(identifier: ClientIdentifier): Uint8Array {
  switch (identifier.kind) {
    case "hardware":
      return Uint8Array.of(identifier.htype, ...identifier.address);
    case "node":
      return Uint8Array.of(nodeType, ...uintBytes(identifier.iaid, 4), ...identifier.duid);
    case "opaque":
      return identifier.bytes;
  }
}

export function decodeClientIdentifier(bytes: Uint8Array): ClientIdentifier | Fault {
  if (bytes.length < 2) return bad;
  const type = bytes[0]!;
  if (type === nodeType && bytes.length >= nodeBytesMin) {
    return { kind: "node", iaid: readUint(bytes, 1, 4), duid: bytes.slice(5) };
  }
  // Ethernet and its kin (types 1 to 37 of RFC 1700) have six more bytes; a text that begins so has another length.
  if (type >= 1 && type <= 37 && bytes.length === 7) return { kind: "hardware", htype: type, address: bytes.slice(1) };
  return { kind: "opaque", bytes: bytes.slice() };
}

/** The bytes as a key of a map. */
export function clientKey(bytes: Uint8Array): string {
  let key = "";
  for (let i = 0; i < bytes.length; i++) key += String.fromCharCode(bytes[i]!);
  return key;
}
