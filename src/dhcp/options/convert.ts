// Values to bytes and back, by kind: the one switch over the families of options.
import { DhcpError } from "../error.ts";
import { type Fault, fault } from "../fault.ts";
import { decodeAddresses, encodeAddresses } from "./addresses.ts";
import { asciiBytes, asciiText, isPrintable, readUint, uintBytes } from "./bytes.ts";
import { optionEntry } from "./catalog.ts";
import { decodeRoutes, encodeRoutes } from "./classless-routes.ts";
import { decodeClientIdentifier, encodeClientIdentifier } from "./client-identifier.ts";
import { decodeDomains, encodeDomains } from "./domain-list.ts";
import { decodeSubOptions, encodeSubOptions } from "./relay-agent.ts";
import type { OptionKind, OptionValue } from "./value.ts";

const widths = { uint8: 1, uint16: 2, uint32: 4 } as const;

const badNumber = fault("bad-value", "A number or an address has a wrong length.");
const badText = fault("bad-value", "A text is empty or has characters that do not print.");

/** Throws for what cannot be sent: an empty value, a text that is not ASCII, a number that is too large. */
export function encodeOption(optionCode: number, value: OptionValue): Uint8Array {
  const bytes = bytesOf(value);
  if (bytes !== undefined && bytes.length > 0) return bytes;
  throw new DhcpError(
    "bad-option",
    `Option ${optionCode} (${optionEntry(optionCode).name}) cannot be sent with that value as ${value.kind}: ` +
      "leave out what is empty, write texts in printable ASCII and names with labels of 1 to 63 characters.",
  );
}

function bytesOf(value: OptionValue): Uint8Array | undefined {
  switch (value.kind) {
    case "address":
      return uintBytes(value.value.value, 4);
    case "addresses":
      return encodeAddresses(value.value);
    case "uint8":
    case "uint16":
    case "uint32": {
      const width = widths[value.kind];
      const fits = Number.isInteger(value.value) && value.value >= 0 && value.value < 256 ** width;
      return fits ? uintBytes(value.value, width) : undefined;
    }
    case "text":
      return asciiBytes(value.value);
    case "domains":
      return encodeDomains(value.value);
    case "routes":
      return encodeRoutes(value.value);
    case "codes":
      return Uint8Array.from(value.value);
    case "client-identifier":
      return encodeClientIdentifier(value.value);
    case "relay-agent":
      return encodeSubOptions(value.value);
    case "bytes":
      return value.value;
  }
}

/** What an option of that code says, by the catalog. Copies: it may be kept. */
export function decodeOption(optionCode: number, bytes: Uint8Array): OptionValue | Fault {
  const { kind } = optionEntry(optionCode);
  const value = decodeKind(kind, bytes);
  return isFault(value) ? value : ({ kind, value } as OptionValue);
}

function decodeKind(kind: OptionKind, bytes: Uint8Array): OptionValue["value"] | Fault {
  switch (kind) {
    case "address": {
      const addresses = bytes.length === 4 ? decodeAddresses(bytes) : badNumber;
      return isFault(addresses) ? addresses : addresses[0]!;
    }
    case "addresses":
      return decodeAddresses(bytes);
    case "uint8":
    case "uint16":
    case "uint32":
      return bytes.length === widths[kind] ? readUint(bytes, 0, widths[kind]) : badNumber;
    case "text":
      return decodeText(bytes);
    case "domains":
      return decodeDomains(bytes);
    case "routes":
      return decodeRoutes(bytes);
    case "codes":
      return [...bytes];
    case "client-identifier":
      return decodeClientIdentifier(bytes);
    case "relay-agent":
      return decodeSubOptions(bytes);
    case "bytes":
      return bytes.slice();
  }
}

/** Some clients end a text with NULs, which are not part of it (RFC 2132 section 2). */
function decodeText(bytes: Uint8Array): string | Fault {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  const text = bytes.subarray(0, end);
  return end > 0 && isPrintable(text) ? asciiText(text) : badText;
}

function isFault(value: unknown): value is Fault {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "fault";
}
