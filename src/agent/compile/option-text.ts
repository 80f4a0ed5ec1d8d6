// A custom option of a pool (`options: [{code, type, value}]`) as src/dhcp wants it: texts become values, by the type
// that is written there or, without one, by what the code is known to be.
import { optionEntry } from "../../dhcp/options/catalog.ts";
import type { OptionKind, OptionValue, Route } from "../../dhcp/options/value.ts";
import { NetError } from "../../net/error.ts";
import { parseCidr } from "../../net/prefix.ts";
import { v4Of } from "./v4.ts";

type WrittenKind = Extract<
  OptionKind,
  "address" | "addresses" | "text" | "uint8" | "uint16" | "uint32" | "domains" | "routes" | "bytes"
>;

/** Key: the type as it is written, in lower case. */
const types = new Map<string, WrittenKind>([
  ["ipv4", "addresses"],
  ["ip", "addresses"],
  ["address", "addresses"],
  ["addresses", "addresses"],
  ["text", "text"],
  ["string", "text"],
  ["uint8", "uint8"],
  ["uint16", "uint16"],
  ["uint32", "uint32"],
  ["domains", "domains"],
  ["routes", "routes"],
  ["hex", "bytes"],
  ["bytes", "bytes"],
]);

const known: ReadonlySet<OptionKind> = new Set(["address", ...types.values()]);

/** A whole sentence where the text is none of that type. */
export function optionValueOf(code: number, type: string | undefined, text: string): OptionValue | string {
  const kind = kindOf(code, type);
  if (kind === undefined) return `Option ${code} has the type ${JSON.stringify(type)}: write one of ${typeNames}.`;
  try {
    return valueOf(kind, text) ?? `Option ${code}: ${JSON.stringify(text)} is not ${words[kind]}.`;
  } catch (error) {
    if (error instanceof NetError) return `Option ${code}: ${error.message}`;
    throw error;
  }
}

const typeNames = [...types.keys()].join(", ");

function kindOf(code: number, type: string | undefined): WrittenKind | undefined {
  if (type !== undefined && type !== "") return types.get(type.toLowerCase());
  const { kind } = optionEntry(code);
  return known.has(kind) ? (kind as WrittenKind) : "bytes";
}

const words: Readonly<Record<WrittenKind, string>> = {
  address: "an IPv4 address",
  addresses: "IPv4 addresses with commas",
  text: "a text",
  uint8: "a number from 0 to 255",
  uint16: "a number from 0 to 65535",
  uint32: "a number from 0 to 4294967295",
  domains: "names with commas",
  routes: "routes as DESTINATION=ROUTER with commas",
  bytes: "bytes in hexadecimal, two digits each",
};

function valueOf(kind: WrittenKind, text: string): OptionValue | undefined {
  switch (kind) {
    case "address":
      return { kind, value: v4Of(text.trim()) };
    case "addresses":
      return { kind, value: listOf(text).map(v4Of) };
    case "text":
      return { kind, value: text };
    case "uint8":
    case "uint16":
    case "uint32":
      return /^\d{1,10}$/.test(text.trim()) ? { kind, value: Number(text) } : undefined;
    case "domains":
      return { kind, value: listOf(text) };
    case "routes":
      return { kind, value: listOf(text).map(routeOf) };
    case "bytes": {
      const digits = text.replaceAll(/^0x|[\s:]/gi, "");
      return /^([0-9a-f]{2})+$/i.test(digits) ? { kind, value: new Uint8Array(Buffer.from(digits, "hex")) } : undefined;
    }
  }
}

function routeOf(text: string): Route {
  const [destination = "", router = ""] = text.split(/\s*=\s*|\s+via\s+/);
  return { destination: parseCidr(destination).prefix, router: v4Of(router) };
}

function listOf(text: string): string[] {
  return text.split(",").flatMap((each) => each.trim() || []);
}
