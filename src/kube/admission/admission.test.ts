import type { X509Certificate } from "node:crypto";
import { Agent, request } from "node:https";
import { createSecureContext } from "node:tls";

import { afterEach, describe, expect, test, vi } from "vitest";

import type { Clock } from "../clock.ts";
import type { AnyObject } from "../meta.ts";
import { KubeClient } from "../rest.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import type { AdmissionRequest } from "./admission-review.ts";
import { type AdmissionHandler, AdmissionServer } from "./admission.ts";
import { isIssuedBy, validityOf } from "./certificate.ts";
import { caBundle, renewed } from "./serving-certificate.ts";
import { WebhookCertificate } from "./webhook-certificate.ts";

const name = "webhook.holdfast.svc";
const material = renewed(undefined, [name], Date.now());
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const allow: AdmissionHandler = async () => ({ allowed: true });

async function started(handler: AdmissionHandler, clock?: Clock) {
  const errors: Error[] = [];
  const server = new AdmissionServer({
    handlers: { "/validate": handler },
    certificate: material.serving,
    host: "127.0.0.1",
    onError: (error) => errors.push(error),
    ...(clock === undefined ? {} : { clock }),
  });
  const port = await server.listen();
  ends.push(() => server.close(AbortSignal.abort(new Error("test over"))));
  return { server, port, errors };
}

const held = (api: FakeApi, clock: ManualClock) =>
  new WebhookCertificate({
    client: new KubeClient({ transport: api.transport, clock }),
    namespace: "holdfast",
    name: "webhook",
    names: [name],
    clock,
  });

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly body?: string | Buffer;
  readonly contentType?: string;
  readonly ca?: string;
  readonly agent?: Agent;
}

function post(port: number, sent: Sent = {}): Promise<{ status: number; text: string; cert: string }> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: "127.0.0.1",
        port,
        servername: name,
        ca: sent.ca ?? caBundle(material),
        agent: sent.agent ?? false,
        method: sent.method ?? "POST",
        path: sent.path ?? "/validate?timeout=10s",
        headers: { "content-type": sent.contentType ?? "application/json" },
      },
      (response) => {
        let text = "";
        const cert = (
          response.socket as unknown as { getPeerX509Certificate(): X509Certificate }
        ).getPeerX509Certificate();
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text, cert: cert.toString() }));
      },
    );
    call.on("error", reject);
    call.end(sent.body ?? review());
  });
}

function review(extra: object = {}): string {
  return JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "uid-1",
      kind: { group: "h.io", version: "v1", kind: "Pool" },
      resource: { group: "h.io", version: "v1", resource: "pools" },
      name: "p",
      namespace: "a",
      operation: "CREATE",
      userInfo: { username: "jane", groups: ["admins"] },
      object: { metadata: { name: "p" } },
      oldObject: null,
      ...extra,
    },
  });
}

const response = (text: string) => (JSON.parse(text) as { response: Record<string, unknown> }).response;

describe("answers", () => {
  test("allowed: the uid is echoed, and what was asked is parsed", async () => {
    const seen: AdmissionRequest[] = [];
    const { port } = await started(async (asked) => {
      seen.push(asked);
      return { allowed: true };
    });
    const { status, text } = await post(port, { body: review({ dryRun: true, subResource: "status" }) });
    expect(status).toBe(200);
    expect(response(text)).toEqual({ uid: "uid-1", allowed: true });
    expect(seen[0]).toMatchObject({
      name: "p",
      namespace: "a",
      operation: "CREATE",
      username: "jane",
      groups: ["admins"],
      dryRun: true,
      subResource: "status",
      oldObject: undefined,
    });
  });

  test("denied: with a sentence, a code and warnings", async () => {
    const { port } = await started(async () => ({
      allowed: false,
      message: "The range is not a CIDR.",
      code: 422,
      warnings: ["w"],
    }));
    expect(response((await post(port)).text)).toEqual({
      uid: "uid-1",
      allowed: false,
      warnings: ["w"],
      status: { message: "The range is not a CIDR.", code: 422, reason: "Forbidden" },
    });
  });

  test("patched: a JSON patch in base64", async () => {
    const patch = [{ op: "add", path: "/metadata/labels", value: { ä: "b" } }] as const;
    const { port } = await started(async () => ({ allowed: true, patch }));
    const answer = response((await post(port)).text);
    expect(answer["patchType"]).toBe("JSONPatch");
    expect(JSON.parse(Buffer.from(String(answer["patch"]), "base64").toString())).toEqual(patch);
  });
});

describe("what is not a review, or cannot be answered, is an HTTP error", () => {
  test.each<[string, Sent, number]>([
    ["another path", { path: "/other" }, 404],
    ["a path that is no URL", { path: "//" }, 404],
    ["a path of the prototype", { path: "/constructor" }, 404],
    ["another method", { method: "PUT" }, 405],
    ["another content type", { contentType: "text/plain" }, 415],
    ["not JSON", { body: "{" }, 400],
    ["JSON of another kind", { body: '{"kind":"Pod"}' }, 400],
    ["null", { body: "null" }, 400],
    ["an old version", { body: review().replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1") }, 400],
    ["no uid", { body: review({ uid: undefined }) }, 400],
    ["too large a body", { body: Buffer.alloc(7 * 1024 * 1024 + 1, 0x20) }, 413],
  ])("%s", async (_name, sent, status) => {
    const { port } = await started(allow);
    expect((await post(port, sent)).status).toBe(status);
  });

  test("a handler that throws leaves the choice to failurePolicy", async () => {
    const { port, errors } = await started(() => Promise.reject(new Error("cache not synced")));
    const { status, text } = await post(port);
    expect([status, text]).toEqual([500, "cache not synced"]);
    expect(errors).toHaveLength(1);
  });

  test("a reply that is not JSON is the handler's failure, not the server's end", async () => {
    const patch = [{ op: "add", path: "/spec/size", value: 1 }] as const;
    const reply = { allowed: true, patch, warnings: [1n as unknown as string] } as const;
    const { port, errors } = await started(async () => reply);
    expect((await post(port)).status).toBe(500);
    expect(errors).toHaveLength(1);
  });

  test.each([
    ["1s", 500],
    ["1500ms", 750],
    ["3s", 2000],
    ["30s", 29_000],
    ["9000s", 29_000],
    ["soon", 9000],
  ])("deadline: of a wait of %s, the answer comes after %d ms at the latest", async (timeout, expectedMs) => {
    const clock = new ManualClock();
    let signal: AbortSignal | undefined;
    const { port } = await started((_asked, context) => {
      signal = context.signal;
      return new Promise(() => {});
    }, clock);
    const pending = post(port, { path: `/validate?timeout=${timeout}` });
    await vi.waitFor(() => expect(signal).toBeDefined());
    await clock.advance(expectedMs - 1);
    expect(signal!.aborted).toBe(false);
    await clock.advance(1);
    expect((await pending).status).toBe(500);
  });

  test("deadline: an answer comes a second before the API server gives up, and the handler hears it", async () => {
    const clock = new ManualClock();
    let signal: AbortSignal | undefined;
    const { port } = await started((_asked, context) => {
      signal = context.signal;
      return new Promise(() => {});
    }, clock);
    const pending = post(port, { path: "/validate?timeout=3s" });
    await vi.waitFor(() => expect(signal).toBeDefined());
    await clock.advance(1999);
    expect(signal!.aborted).toBe(false);
    await clock.advance(1);
    expect((await pending).status).toBe(500);
    expect(signal!.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });
});

describe("shutdown", () => {
  test("a review under way is answered, and its connection does not keep the server open", async () => {
    let answer: ((reply: { allowed: true }) => void) | undefined;
    const { port, server } = await started(() => new Promise((resolve) => (answer = resolve)));
    const agent = new Agent({ keepAlive: true });
    const pending = post(port, { agent });
    await vi.waitFor(() => expect(answer).toBeDefined());
    const closed = server.close(AbortSignal.timeout(50_000));
    answer!({ allowed: true });
    expect((await pending).status).toBe(200);
    await closed;
    agent.destroy();
  });

  test("one that takes too long is cut when the time is up", async () => {
    const { port, server } = await started(() => new Promise(() => {}));
    const pending = post(port).catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await server.close(AbortSignal.timeout(10));
    expect(await pending).toBeInstanceOf(Error);
  });
});

describe("certificate", () => {
  test("is replaced while serving", async () => {
    const { port, server } = await started(allow);
    const before = await post(port);
    const next = renewed(undefined, [name], Date.now());
    server.setCertificate(next.serving);
    await expect(post(port)).rejects.toThrow();
    const after = await post(port, { ca: caBundle(next) });
    expect(after.status).toBe(200);
    expect(after.cert).not.toBe(before.cert);
  });

  test("replicas share one Secret, whoever comes first", async () => {
    const api = new FakeApi();
    const clock = new ManualClock();
    const signal = new AbortController().signal;
    const all = await Promise.all(
      [held(api, clock), held(api, clock), held(api, clock)].map((each) => each.ensure(signal)),
    );
    expect(new Set(all.map(({ serving }) => serving.cert)).size).toBe(1);
    expect(await held(api, clock).ensure(signal)).toEqual(all[0]);
  });

  test("is renewed before it expires", async () => {
    const api = new FakeApi();
    const clock = new ManualClock();
    const served = new Set<string>();
    for (let day = 0; day < 100; day++) {
      await clock.advance(86_400_000);
      served.add((await held(api, clock).ensure(new AbortController().signal)).serving.cert);
    }
    expect(served.size).toBe(2);
    expect(validityOf([...served][1]!).notAfterMs).toBeGreaterThan(clock.wallMs());
  });

  test.each([
    ["a certificate that is none", { "tls.crt": "rubbish" }],
    ["a key that is none", { "tls.key": "rubbish" }],
    ["the key of another", { "tls.key": renewed(undefined, [name], Date.now()).serving.key }],
    ["an authority that is none", { "ca.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" }],
    ["an authority with the key of another", { "ca.key": material.serving.key }],
  ])("a Secret that was damaged is made anew: %s", async (_name, damage) => {
    const api = new FakeApi();
    const clock = new ManualClock();
    const signal = new AbortController().signal;
    await held(api, clock).ensure(signal);
    const path = "/api/v1/namespaces/holdfast/secrets/webhook";
    const secret = JSON.parse(await new KubeClient({ transport: api.transport, clock }).raw(path)) as AnyObject;
    const data = Object.fromEntries(
      Object.entries(damage).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
    );
    api.put(path, { ...secret, data: { ...(secret["data"] as object), ...data } });
    const { serving, authorities } = await held(api, clock).ensure(signal);
    expect(isIssuedBy(serving.cert, authorities[0]!.cert)).toBe(true);
    expect(() => createSecureContext(serving)).not.toThrow();
  });
});
