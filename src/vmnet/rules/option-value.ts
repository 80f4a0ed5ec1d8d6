// The value of an option that a pool gives by code: text in the object, a typed value for src/dhcp. Pure.
import type { OptionValue } from "../../dhcp/options/value.ts";
import { parseAddress, type V4Address } from "../../net/address.ts";
import { NetError } from "../../net/error.ts";
import { parsed } from "./fields.ts";

type Read = { readonly value: OptionValue } | { readonly why: string };

const integers = { uint8: 0xff, uint16: 0xffff, uint32: 0xffff_ffff } as const;

/** `type` as a pool has it, or the kind that the catalog knows of the code. */
export function optionValueOf(type: string, text: string): Read {
  if (text === "") return { why: "its value is empty; write one, or leave the option out." };
  switch (type) {
    case "ipv4":
    case "address":
      return addressesOf(text, (value) => (value.length === 1 ? { kind: "address", value: value[0]! } : undefined));
    case "ipv4s":
    case "addresses":
      return addressesOf(text, (value) => ({ kind: "addresses", value }));
    case "uint8":
    case "uint16":
    case "uint32":
      return integerOf(type, text);
    case "text":
    case "string":
      return { value: { kind: "text", value: text } };
    case "domains":
      return { value: { kind: "domains", value: listed(text) } };
    case "hex":
    case "bytes":
      return bytesOf(text);
    default:
      return {
        why: `${JSON.stringify(type)} is no type for it; write ipv4, ipv4s, text, uint8, uint16, uint32, domains or hex.`,
      };
  }
}

function listed(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((each) => each !== "");
}

function addressesOf(text: string, make: (value: readonly V4Address[]) => OptionValue | undefined): Read {
  const result = parsed(() =>
    listed(text).map((each) => {
      const address = parseAddress(each);
      if (address.family === 4) return address;
      throw new NetError("mixed-families", `${each} is IPv6; write IPv4.`);
    }),
  );
  if ("why" in result) return result;
  const value = make(result.value);
  return value === undefined ? { why: `${JSON.stringify(text)} has several addresses; write one.` } : { value };
}

function integerOf(kind: keyof typeof integers, text: string): Read {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= integers[kind]) return { value: { kind, value } };
  return { why: `${JSON.stringify(text)} is no ${kind}; write 0 to ${integers[kind]}.` };
}

/** `01:0a`, `01 0a` and `010a` are the same. */
function bytesOf(text: string): Read {
  const digits = text.replaceAll(/[\s:]|^0x/gi, "");
  if (/^([0-9a-f]{2})+$/i.test(digits)) {
    return {
      value: { kind: "bytes", value: Uint8Array.from(digits.match(/../g)!, (pair) => Number.parseInt(pair, 16)) },
    };
  }
  return { why: `${JSON.stringify(text)} is no bytes; write pairs of hexadecimal digits.` };
}
