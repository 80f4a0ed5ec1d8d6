import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer } from "node:tls";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { isIssuedBy, makeAuthority, makeServerCertificate, validityOf } from "./certificate.ts";
import { bitString, boolean, integer, oid, sequence, time } from "./der.ts";
import { caBundle, renewed } from "./serving-certificate.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const dayMs = 86_400_000;
const openssl = "openssl";
const soon = () => ({ notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + dayMs });

describe("DER", () => {
  test.each([
    ["0", integer(0), "020100"],
    ["127", integer(127), "02017f"],
    ["128 has a leading zero", integer(128), "02020080"],
    ["65537", integer(65_537), "0203010001"],
    ["bytes with zeros in front", integer(Buffer.from([0, 0, 1])), "020101"],
    ["an OID with large arcs", oid("1.2.840.10045.4.3.2"), "06082a8648ce3d040302"],
    ["true", boolean(true), "0101ff"],
    ["a bit string", bitString(Buffer.from([6]), 1), "03020106"],
    ["a time before 2050", time(Date.UTC(2026, 10, 15, 5, 6, 7)), "170d3236313131353035303630375a"],
    ["a time after", time(Date.UTC(2050, 0, 1)), "180f32303530303130313030303030305a"],
  ])("%s", (_name, bytes, expected) => expect(hex(bytes)).toBe(expected));

  test("a length above 127 is written as the count of its bytes, then the bytes", () => {
    fc.assert(
      fc.property(fc.integer({ min: 128, max: 70_000 }), (size) => {
        const encoded = sequence(Buffer.alloc(size));
        const count = encoded[1]! & 0x7f;
        expect(encoded[1]! & 0x80).toBe(0x80);
        expect(encoded.readUIntBE(2, count)).toBe(size);
        expect(encoded).toHaveLength(2 + count + size);
      }),
      { numRuns: 50 },
    );
  });
});

describe("certificates", () => {
  const authority = makeAuthority("test authority", soon());
  const names = ["webhook.holdfast.svc", "127.0.0.1", "::1", "fd00:1::2:3"];
  const server = makeServerCertificate(authority, names, soon());

  test("node reads them, and finds the names", () => {
    const cert = new X509Certificate(server.cert);
    expect(cert.subjectAltName).toContain("DNS:webhook.holdfast.svc");
    expect(cert.checkIP("127.0.0.1")).toBe("127.0.0.1");
    expect(cert.checkIP("::1")).toBe("::1");
    expect(cert.checkIP("fd00:1::2:3")).toBe("fd00:1::2:3");
    expect(cert.checkHost("other.holdfast.svc")).toBeUndefined();
    expect(cert.ca).toBe(false);
    expect(new X509Certificate(authority.cert).ca).toBe(true);
    expect(isIssuedBy(server.cert, authority.cert)).toBe(true);
    expect(isIssuedBy(server.cert, makeAuthority("test authority", soon()).cert)).toBe(false);
  });

  test("a leaf does not outlive its authority", () => {
    const long = makeServerCertificate(authority, ["a"], {
      notBeforeMs: Date.now(),
      notAfterMs: Date.now() + 99 * dayMs,
    });
    expect(validityOf(long.cert).notAfterMs).toBe(validityOf(authority.cert).notAfterMs);
  });

  test("openssl verify accepts them for the name and the purpose, and refuses others", () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-cert-"));
    try {
      const caPath = join(folder, "ca.pem");
      const certPath = join(folder, "cert.pem");
      writeFileSync(caPath, authority.cert);
      writeFileSync(certPath, server.cert);
      const verify = (host: string, ca = caPath) =>
        execFileSync(
          openssl,
          ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", host, "-CAfile", ca, certPath],
          { encoding: "utf8", stdio: "pipe" },
        );
      expect(verify("webhook.holdfast.svc")).toContain("OK");
      expect(() => verify("elsewhere.svc")).toThrow(/hostname mismatch/i);
      const otherPath = join(folder, "other.pem");
      writeFileSync(otherPath, makeAuthority("other", soon()).cert);
      expect(() => verify("webhook.holdfast.svc", otherPath)).toThrow(/unable to get local issuer/i);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("node:tls shakes hands with them, verified", async () => {
    const listener = createServer({ cert: server.cert, key: server.key }, (socket) => socket.end("hello"));
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    try {
      const socket = connect({ host: "127.0.0.1", port, ca: authority.cert, servername: "webhook.holdfast.svc" });
      const [data] = (await once(socket, "data")) as [Buffer];
      expect(data.toString()).toBe("hello");
      expect(socket.authorized).toBe(true);
      socket.destroy();
      const stranger = connect({
        host: "127.0.0.1",
        port,
        ca: makeAuthority("x", soon()).cert,
        servername: "webhook.holdfast.svc",
      });
      const [error] = (await once(stranger, "error")) as [Error];
      expect(error.message).toMatch(/unable to verify|self-signed|local issuer/);
    } finally {
      listener.close();
    }
  });
});

describe("rotation", () => {
  const names = ["a.b.svc"];
  const startMs = Date.UTC(2026, 0, 1);

  test("nothing is due: the very same material", () => {
    const first = renewed(undefined, names, startMs);
    expect(renewed(first, names, startMs + dayMs)).toBe(first);
  });

  test("other names: a new certificate under the same authority", () => {
    const first = renewed(undefined, names, startMs);
    const second = renewed(first, ["c.d.svc"], startMs + 1);
    expect(second.serving.cert).not.toBe(first.serving.cert);
    expect(caBundle(second)).toBe(caBundle(first));
  });

  test("over three years, day by day: what is served is always valid, and trusted by yesterday's bundle", () => {
    let held = renewed(undefined, names, startMs);
    let bundleOfYesterday = held.authorities;
    const certs = new Set<string>();
    const authorities = new Set<string>();
    for (let day = 1; day <= 3 * 365; day++) {
      const nowMs = startMs + day * dayMs;
      const next = renewed(held, names, nowMs);
      const { notBeforeMs, notAfterMs } = validityOf(next.serving.cert);
      expect(nowMs).toBeGreaterThan(notBeforeMs);
      expect(notAfterMs).toBeGreaterThan(nowMs + 20 * dayMs);
      expect(bundleOfYesterday.some(({ cert }) => isIssuedBy(next.serving.cert, cert))).toBe(true);
      expect(next.authorities.length).toBeLessThanOrEqual(3);
      certs.add(next.serving.cert);
      for (const { cert } of next.authorities) authorities.add(cert);
      bundleOfYesterday = held.authorities;
      held = next;
    }
    expect(certs.size).toBeGreaterThan(15);
    expect(authorities.size).toBeGreaterThan(3);
  });

  test("a new authority signs nothing until it has been trusted for a day", () => {
    const rotationMs = startMs + 250 * dayMs;
    const before = renewed(undefined, names, startMs);
    const rotated = renewed(before, names, rotationMs);
    expect(rotated.authorities).toHaveLength(2);
    const [young, old] = rotated.authorities;
    const soonAfter = renewed(rotated, ["new.name.svc"], rotationMs + dayMs / 2);
    expect(isIssuedBy(soonAfter.serving.cert, old!.cert)).toBe(true);
    const later = renewed(rotated, ["new.name.svc"], rotationMs + dayMs);
    expect(isIssuedBy(later.serving.cert, young!.cert)).toBe(true);
  });

  test("made by a clock that was a year ahead: made anew when it is right again, not a year later", () => {
    const ahead = renewed(undefined, names, startMs + 365 * dayMs);
    const { serving, authorities } = renewed(ahead, names, startMs);
    for (const { cert } of [serving, ...authorities]) {
      expect(validityOf(cert).notBeforeMs).toBeLessThanOrEqual(startMs);
    }
  });

  test("a certificate from a clock ahead, under an authority that is not: only it is made anew", () => {
    const first = renewed(undefined, names, startMs);
    const ahead = renewed(first, names, startMs + 70 * dayMs);
    const second = renewed(ahead, names, startMs + dayMs);
    expect(second.authorities).toEqual(first.authorities);
    expect(validityOf(second.serving.cert).notBeforeMs).toBeLessThanOrEqual(startMs + dayMs);
  });

  test("long away: everything expired, everything new", () => {
    const first = renewed(undefined, names, startMs);
    const later = renewed(first, names, startMs + 800 * dayMs);
    expect(later.authorities).toHaveLength(1);
    expect(isIssuedBy(later.serving.cert, later.authorities[0]!.cert)).toBe(true);
  });
});
