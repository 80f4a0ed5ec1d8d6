// X.509 certificates (RFC 5280) of our own: an authority and the leaves it signs. Node can only read certificates.
//
// ECDSA on P-256 with SHA-256 throughout. An authority signs only leaves (path length 0).
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { isIP } from "node:net";

import { bitString, boolean, explicit, implicit, integer, octetString, oid, sequence, set, time, utf8 } from "./der.ts";

/** PEM, both. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const oids = {
  commonName: "2.5.4.3",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  subjectKeyId: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyId: "2.5.29.35",
  extKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;

export function makeAuthority(commonName: string, validity: Validity): KeyPair {
  const { publicKey, privateKey } = newKey();
  const id = keyId(publicKey);
  const extensions = [
    extension(oids.basicConstraints, true, sequence(boolean(true), integer(0))),
    extension(oids.keyUsage, true, bitString(Buffer.from([0b0000_0110]), 1)), // certificates and revocation lists
    extension(oids.subjectKeyId, false, octetString(id)),
  ];
  const cert = signed({ subject: commonName, issuer: commonName, publicKey, validity, extensions }, privateKey);
  return { cert, key: privateKey };
}

/** A server's certificate for the given DNS names and IP addresses. Its end is never after the authority's. */
export function makeServerCertificate(authority: KeyPair, names: readonly string[], validity: Validity): KeyPair {
  const { publicKey, privateKey } = newKey();
  const parent = new X509Certificate(authority.cert);
  const extensions = [
    extension(oids.basicConstraints, true, sequence()),
    extension(oids.keyUsage, true, bitString(Buffer.from([0b1000_0000]), 7)), // digital signature
    extension(oids.extKeyUsage, false, sequence(oid(oids.serverAuth))),
    extension(oids.subjectAltName, false, sequence(...names.map(altName))),
    extension(oids.subjectKeyId, false, octetString(keyId(publicKey))),
    extension(oids.authorityKeyId, false, sequence(implicit(0, keyId(publicKeyOf(authority.key))))),
  ];
  const notAfterMs = Math.min(validity.notAfterMs, Date.parse(parent.validTo));
  const parties = { subject: names[0] ?? "", issuer: parent.subject.replace(/^CN=/, "") };
  const cert = signed({ ...parties, publicKey, validity: { ...validity, notAfterMs }, extensions }, authority.key);
  return { cert, key: privateKey };
}

export function isIssuedBy(certPem: string, authorityPem: string): boolean {
  const authority = new X509Certificate(authorityPem);
  return new X509Certificate(certPem).verify(authority.publicKey);
}

/** A certificate and its own private key; false for whatever is not. */
export function isPair({ cert, key }: KeyPair): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

export function validityOf(certPem: string): Validity {
  const { validFrom, validTo } = new X509Certificate(certPem);
  return { notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) };
}

interface Contents {
  readonly subject: string;
  readonly issuer: string;
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

function signed({ subject, issuer, publicKey, validity, extensions }: Contents, signerKey: string): string {
  const algorithm = sequence(oid(oids.ecdsaWithSha256));
  const body = sequence(
    explicit(0, integer(2)), // version 3
    integer(serialNumber()),
    algorithm,
    name(issuer),
    sequence(time(validity.notBeforeMs), time(validity.notAfterMs)),
    name(subject),
    publicKey,
    explicit(3, sequence(...extensions)),
  );
  return pem(sequence(body, algorithm, bitString(sign("sha256", body, signerKey))));
}

/** 127 random bits: positive, and unique without a counter. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes;
}

function name(commonName: string): Buffer {
  return sequence(set(sequence(oid(oids.commonName), utf8(commonName))));
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octetString(value));
}

/** dNSName is [2], iPAddress is [7] with its 4 or 16 bytes. */
function altName(value: string): Buffer {
  return isIP(value) === 0 ? implicit(2, Buffer.from(value, "ascii")) : implicit(7, addressBytes(value));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const [head = [], tail = []] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, "0")).join(""), "hex");
}

function newKey(): { publicKey: Buffer; privateKey: string } {
  return generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
}

function publicKeyOf(keyPem: string): Buffer {
  return createPublicKey(createPrivateKey(keyPem)).export({ type: "spki", format: "der" });
}

/** Any unique value serves as the key identifier; a hash of the public key is customary. */
function keyId(publicKey: Buffer): Buffer {
  return createHash("sha256").update(publicKey).digest().subarray(0, 20);
}

function pem(der: Buffer): string {
  const lines = der.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
