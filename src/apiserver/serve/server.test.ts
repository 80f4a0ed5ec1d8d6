import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Agent, request } from "undici";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";

import { type Api, openApi } from "../api.ts";
import { type Served, certify, serve } from "./server.ts";

let folder: string;
let api: Api;
let served: Served;
let agent: Agent;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-serve-"));
  api = openApi({ path: join(folder, "api.db") });
  served = await serve(api, { kubeconfigPath: join(folder, "kubeconfig") });
  agent = new Agent({ connect: { ca: served.certificate } });
});

afterEach(async () => {
  await agent.destroy();
  await served.close();
  api.close();
  rmSync(folder, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) =>
  request(served.url + path, { dispatcher: agent, headers });

test("it listens on loopback, behind a certificate that a client can verify", async () => {
  expect(served.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const answer = await get("/healthz");
  expect(await answer.body.text()).toBe("ok");
  const stranger = new Agent();
  await expect(request(`${served.url}/healthz`, { dispatcher: stranger })).rejects.toThrow(/certificate/);
  await stranger.destroy();
});

test("without the token everything but health and version is 401", async () => {
  for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: `Bearer ${served.token}x` }]) {
    const answer = await get("/api/v1/namespaces", headers);
    expect(answer.statusCode).toBe(401);
    expect(await answer.body.json()).toMatchObject({ kind: "Status", reason: "Unauthorized" });
  }
  const answer = await get("/api/v1/namespaces", { authorization: `Bearer ${served.token}` });
  expect(answer.statusCode).toBe(200);
  await answer.body.dump();
});

test("the kubeconfig is for its owner's eyes and leads to the server", () => {
  const path = join(folder, "kubeconfig");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const config = parse(readFileSync(path, "utf8")) as { clusters: { cluster: Record<string, string> }[] };
  expect(config.clusters[0]!.cluster["server"]).toBe(served.url);
  const trusted = Buffer.from(config.clusters[0]!.cluster["certificate-authority-data"]!, "base64").toString("utf8");
  expect(trusted).toBe(served.certificate);
});

test("token and certificate stay with the database", async () => {
  const before = { token: served.token, certificate: served.certificate };
  await served.close();
  api.close();
  api = openApi({ path: join(folder, "api.db") });
  served = await serve(api);
  expect({ token: served.token, certificate: served.certificate }).toEqual(before);
});

test("closing does not wait for a client that is still shaking hands", async () => {
  const socket = createConnection(Number(new URL(served.url).port), "127.0.0.1");
  await once(socket, "connect");
  const ended = once(socket, "close");
  await served.close();
  await ended;
  served = await serve(api);
});

test("a body above 3 MiB is 413", async () => {
  const answer = await request(`${served.url}/api/v1/namespaces/default/configmaps`, {
    method: "POST",
    dispatcher: agent,
    headers: { authorization: `Bearer ${served.token}`, "content-type": "application/json" },
    body: "x".repeat(3 * 1024 * 1024 + 1),
  });
  expect(answer.statusCode).toBe(413);
  expect(await answer.body.json()).toMatchObject({ reason: "RequestEntityTooLarge" });
});

test("a certificate names its hosts, v4, v6 and by name", () => {
  const { authority, cert } = certify(["127.0.0.1", "::1", "fd00::12:3", "host.example"], Date.now());
  const x509 = new X509Certificate(cert);
  expect(x509.verify(new X509Certificate(authority).publicKey)).toBe(true);
  expect(x509.checkIP("127.0.0.1")).toBe("127.0.0.1");
  expect(x509.checkIP("::1")).toBe("::1");
  expect(x509.checkIP("fd00::12:3")).toBe("fd00::12:3");
  expect(x509.checkHost("host.example")).toBe("host.example");
  expect(x509.checkIP("192.0.2.1")).toBeUndefined();
});
