// MAC addresses (EUI-48), as text in any of the three usual forms, kept as the canonical one.
import { NetError } from "./error.ts";
import { orNone } from "./or-none.ts";

/** Six lower-case hexadecimal pairs with colons: `02:00:0a:00:00:07`. */
export type Mac = string & { readonly brand: "Mac" };

const forms = [/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/, /^([0-9a-f]{2}-){5}[0-9a-f]{2}$/, /^([0-9a-f]{4}\.){2}[0-9a-f]{4}$/];

export function parseMac(text: string): Mac {
  const lower = text.toLowerCase();
  if (!forms.some((form) => form.test(lower))) {
    const words = `${JSON.stringify(text)} is not a MAC address: write six pairs of hexadecimal digits, like 02:00:0a:00:00:07.`;
    throw new NetError("bad-mac", words);
  }
  return withColons(lower.replaceAll(/[^0-9a-f]/g, ""));
}

/** Whether it is one in the canonical form already. */
export function isMac(text: string): text is Mac {
  return forms[0]!.test(text);
}

/** Undefined: it is none. */
export function tryMac(text: string): Mac | undefined {
  return orNone(() => parseMac(text));
}

export function macFromBytes(bytes: Uint8Array): Mac {
  if (bytes.length !== 6) throw new NetError("bad-mac", `a MAC address has 6 bytes, not ${bytes.length}.`);
  return withColons(Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""));
}

export function macToBytes(mac: Mac): Uint8Array {
  return Uint8Array.from(mac.split(":"), (pair) => Number.parseInt(pair, 16));
}

function withColons(digits: string): Mac {
  return digits.replaceAll(/(..)(?!$)/g, "$1:") as Mac;
}
