// A self-signed certificate for the addresses the server listens on (RFC 5280, ECDSA P-256), so that clients verify whom they speak to.
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIP, isIPv4 } from "node:net";

import { bits, boolean, der, identifier, integer, octets, sequence, set, time, utf8 } from "./der.ts";

export interface Certificate {
  /** PEM; also what clients trust. */
  readonly certificate: string;
  readonly key: string;
}

const ecdsaWithSha256 = sequence(identifier("1.2.840.10045.4.3.2"));
const dayMs = 86_400_000;
/** The key never leaves the database; a new one is made with a new database. */
const validityMs = 3650 * dayMs;

function name(commonName: string): Buffer {
  return sequence(set(sequence(identifier("2.5.4.3"), utf8(commonName))));
}

/** Section 4.2.1.6: iPAddress is [7] in network order, dNSName is [2]. */
function alternativeName(host: string): Buffer {
  if (isIP(host) === 0) return der(0x82, Buffer.from(host));
  return der(0x87, isIPv4(host) ? Buffer.from(host.split(".").map(Number)) : ipv6Bytes(host));
}

const groups = (part: string) => part.split(":").filter((group) => group !== "");

function ipv6Bytes(address: string): Buffer {
  const [head = "", tail] = address.split("::");
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const middle = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => "0");
  const words = [...left, ...middle, ...right].map((group) => parseInt(group, 16));
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}

function extension(dotted: string, isCritical: boolean, value: Buffer): Buffer {
  return sequence(identifier(dotted), ...(isCritical ? [boolean(true)] : []), octets(value));
}

export function selfSigned(hosts: readonly string[], nowMs: number): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const subject = name("holdfast-api");
  const serial = randomBytes(16);
  // Positive and without leading zeros.
  serial[0] = (serial[0]! & 0x7f) | 0x01;
  const extensions = sequence(
    extension("2.5.29.19", true, sequence(boolean(true))),
    // digitalSignature and keyCertSign.
    extension("2.5.29.15", true, der(0x03, Buffer.from([2, 0b1000_0100]))),
    extension("2.5.29.37", false, sequence(identifier("1.3.6.1.5.5.7.3.1"))),
    extension("2.5.29.17", false, sequence(...hosts.map(alternativeName))),
  );
  const tbs = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    subject,
    sequence(time(nowMs - dayMs), time(nowMs + validityMs)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const certificate = sequence(tbs, ecdsaWithSha256, bits(sign("sha256", tbs, privateKey)));
  return {
    certificate: pem("CERTIFICATE", certificate),
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
