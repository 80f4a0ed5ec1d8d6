// An address as the end of an object's name. IPv4 as it is; IPv6 as eight groups of four hexadecimal digits, which is
// legal wherever a name is, sorts by number, and always has one length: what stands before cannot be confused with it.
import { type Address, fromBigInt, parseAddress, toBigInt } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";

const fullV6 = /^(?:(.+)-)?([0-9a-f]{4}(?:-[0-9a-f]{4}){7})$/;
const v4 = /^(?:(.+)-)?(\d{1,3}(?:\.\d{1,3}){3})$/;

export function addressName(address: Address): string {
  if (address.family === 4) return address.toString();
  const digits = toBigInt(address).toString(16).padStart(32, "0");
  return (digits.match(/.{4}/g) ?? []).join("-");
}

/** Reads `before-address`, where `before` may be empty; undefined where the end is no address in that form. */
export function readAddressName(name: string): { readonly before: string; readonly address: Address } | undefined {
  const six = fullV6.exec(name);
  if (six?.[2] !== undefined)
    return { before: six[1] ?? "", address: fromBigInt(6, BigInt(`0x${six[2].replaceAll("-", "")}`)) };
  const four = v4.exec(name);
  const address = tryAddress(four?.[2] ?? "");
  return address === undefined ? undefined : { before: four?.[1] ?? "", address };
}

export function tryAddress(text: string): Address | undefined {
  return attempt(NetError, () => parseAddress(text));
}
