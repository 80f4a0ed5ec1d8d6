// TCP and TLS on loopback against Debian's ovsdb-server: who is let in, and who is not.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { dialer, type TlsOptions } from "../../src/ovsdb/rpc/dial.ts";
import { parseEndpoints } from "../../src/ovsdb/rpc/endpoint.ts";
import { CertificateAuthority, type KeyPair } from "../lab/certificates.ts";
import { freePort } from "../lab/port.ts";
import { cached, dumped, makeSwitch, runClient } from "./fixture.ts";
import { OvsdbServer, tlsArguments } from "./ovsdb-server.ts";

const folder = mkdtempSync(join(tmpdir(), "ovsdb-tls-"));
const other = mkdtempSync(join(tmpdir(), "ovsdb-tls-"));
let server: OvsdbServer;
let tcp: number;
let ssl: number;
let ours: CertificateAuthority;
let strangers: CertificateAuthority;
let client: KeyPair;
beforeAll(async () => {
  [tcp, ssl] = [await freePort(), await freePort()];
  ours = await CertificateAuthority.make(folder);
  strangers = await CertificateAuthority.make(other);
  const own = await ours.sign("server", { commonName: "ovn", names: ["DNS:ovn-nb"] });
  client = await ours.sign("client", { commonName: "holdfast" });
  server = await OvsdbServer.alone(
    [`ptcp:${tcp}:127.0.0.1`, `pssl:${ssl}:127.0.0.1`],
    tlsArguments(own, ours.own.certificate),
  );
  await server.start();
});
afterAll(async () => {
  await server.dispose();
  for (const each of [folder, other]) rmSync(each, { recursive: true, force: true });
});

const read = (file: string) => readFileSync(file, "utf8");
const tls = (peer: TlsOptions["peer"], authority = ours): TlsOptions => ({
  peer,
  material: () =>
    Promise.resolve({
      authority: read(authority.own.certificate),
      certificate: read(client.certificate),
      key: read(client.key),
    }),
});

describe("a client", () => {
  it("follows and writes over TCP", async () => {
    await using running = await runClient({ endpoints: `tcp:127.0.0.1:${tcp}` });
    await makeSwitch(running.client, "over-tcp", AbortSignal.timeout(30_000));
    expect(cached(running.client)).toEqual(await dumped(server));
  });

  it.each<["any" | { name: string }]>([["any"], [{ name: "ovn-nb" }]])("and over TLS, of peer %o", async (peer) => {
    await using running = await runClient({ endpoints: `ssl:127.0.0.1:${ssl}`, tls: tls(peer) });
    await makeSwitch(running.client, `over-tls-${JSON.stringify(peer)}`, AbortSignal.timeout(30_000));
    expect(cached(running.client)).toEqual(await dumped(server));
  });

  it.each([
    ["a server of another name", () => tls({ name: "ovn-sb" })],
    ["a server that its authority has not signed", () => tls("any", strangers)],
  ])("does not speak to %s", async (_which, options) => {
    const [endpoint] = parseEndpoints(`ssl:127.0.0.1:${ssl}`);
    const dialled = dialer(options())(endpoint!, AbortSignal.timeout(30_000));
    await expect(dialled).rejects.toMatchObject({ code: "unreachable" });
  });
});
