// An admission webhook of a case's own: HTTPS on loopback, a certificate made by openssl, answers as the case says.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect } from "vitest";

import { post, type Call } from "./call.ts";
import { unique, type Fixture } from "./fixture.ts";
import type { KubeObject, Status } from "./object.ts";
import { until } from "./until.ts";

export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly subResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly userInfo: { readonly username?: string; readonly groups?: readonly string[] };
  readonly object: KubeObject | null;
  readonly oldObject: KubeObject | null;
  readonly dryRun?: boolean;
  readonly options?: unknown;
}

interface Verdict {
  readonly allowed: boolean;
  readonly status?: { readonly code?: number; readonly message?: string; readonly reason?: string };
  /** The operations of a JSON patch. */
  readonly patch?: readonly object[];
  readonly warnings?: readonly string[];
}

/** Decides on a request; a string is sent as it is, for answers that are none. */
export type Judge = (request: AdmissionRequest) => Verdict | string | Promise<Verdict | string>;

export interface Webhook {
  readonly url: string;
  readonly caBundle: string;
  /** What was asked so far, oldest first. */
  readonly requests: readonly AdmissionRequest[];
}

/** A review holds an object and its predecessor, of 1.5 MiB each at most. */
const reviewLimitBytes = 4 * 1024 * 1024;

interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** One for the whole run: making it takes longer than a case. */
let certificate: Certificate | undefined;

function makeCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-webhook-"));
  try {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=webhook", "-addext", "subjectAltName=IP:127.0.0.1"];
    const request = [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
    ];
    execFileSync("openssl", [...request, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const bundle = (cert: string) => Buffer.from(cert).toString("base64");

/** A bundle that does not vouch for any webhook here. */
export const strangeBundle = (): string => bundle(makeCertificate().cert);

/** Serves until the case is over. */
export async function webhook(fixture: Fixture, judge: Judge): Promise<Webhook> {
  certificate ??= makeCertificate();
  const { key, cert } = certificate;
  const requests: AdmissionRequest[] = [];
  const server = createServer({ key, cert }, (incoming, outgoing) => {
    answer(incoming, judge, requests).then(
      (text) => outgoing.writeHead(200, { "content-type": "application/json" }).end(text),
      (error: unknown) => outgoing.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  fixture.after(() => close(server));
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}/admit`, caBundle: bundle(cert), requests };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

async function answer(incoming: IncomingMessage, judge: Judge, requests: AdmissionRequest[]): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > reviewLimitBytes) throw new Error(`An admission review is larger than ${reviewLimitBytes} bytes.`);
    chunks.push(chunk);
  }
  const { request } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { request: AdmissionRequest };
  requests.push(request);
  const verdict = await judge(request);
  if (typeof verdict === "string") return verdict;
  const { patch, ...rest } = verdict;
  const encoded = Buffer.from(JSON.stringify(patch ?? [])).toString("base64");
  const patching = patch === undefined ? {} : { patchType: "JSONPatch", patch: encoded };
  const response = { uid: request.uid, ...rest, ...patching };
  return JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response });
}

export interface HookOptions {
  readonly url: string;
  readonly caBundle: string;
  readonly type?: "validating" | "mutating";
  /** Configurations are called in the order of their names, which begin with this. */
  readonly order?: string;
  readonly rules?: readonly object[];
  readonly [setting: string]: unknown;
}

export const rule = (operations: readonly string[], resources: readonly string[], group = "") => ({
  operations,
  apiGroups: [group],
  apiVersions: ["v1"],
  resources,
});

const registrations = "/apis/admissionregistration.k8s.io/v1";

/** A configuration that concerns the case's own namespace only, unless `settings` say otherwise. */
export function registration(fixture: Fixture, options: HookOptions) {
  const {
    url,
    caBundle,
    type = "validating",
    order = "m",
    rules = [rule(["CREATE", "UPDATE", "DELETE"], ["configmaps"])],
    ...settings
  } = options;
  const own = { matchLabels: { "kubernetes.io/metadata.name": fixture.namespace } };
  const hook = {
    name: "hook.holdfast.test",
    clientConfig: { url, caBundle },
    rules,
    namespaceSelector: own,
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    timeoutSeconds: 20,
    ...settings,
  };
  const kind = type === "mutating" ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration";
  const body = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata: { name: unique(`hook-${order}-`) },
    webhooks: [hook],
  };
  return { collection: `${registrations}/${kind.toLowerCase()}s`, body };
}

/** A refusal by a webhook that gives a message and no code, which the server makes 400 without a reason. */
export async function denied(fixture: Fixture, call: Call): Promise<string> {
  const reply = await fixture.api.send(call);
  expect(reply.body).toMatchObject({ kind: "Status", status: "Failure", code: 400 });
  expect(reply.status).toBe(400);
  const { message } = reply.body as Status;
  expect(message).toContain('admission webhook "hook.holdfast.test" denied the request');
  return message;
}

/**
 * Registers a webhook and waits until the server calls it, which it does only after a while: a second registration with
 * the same life, on an object of its own name, is asked until it answers.
 */
export async function register(fixture: Fixture, options: HookOptions): Promise<KubeObject> {
  const { collection, body } = registration(fixture, options);
  const ready = unique("ready-");
  const canary = await webhook(fixture, ({ name }) => ({ allowed: name !== ready, status: { message: ready } }));
  const probe = registration(fixture, { ...options, ...canary, rules: [rule(["CREATE"], ["serviceaccounts"])] });
  const [hook] = probe.body.webhooks;
  const { objectSelector: _unused, matchConditions: _neither, ...asked } = hook as Record<string, unknown>;
  const second = { ...asked, name: "canary.holdfast.test", failurePolicy: "Fail" };
  const made = await fixture.lend(collection, { ...body, webhooks: [...body.webhooks, second] });
  const trial = post(fixture.at("serviceaccounts"), { metadata: { name: ready } }, { dryRun: "All" });
  await until("the webhook is called", async () =>
    (await fixture.api.send(trial)).text.includes(`denied the request: ${ready}`),
  );
  return made;
}
