// The webhooks of one replica: the replicas' common certificate, the server, and the configurations that trust it.
// Promised: a failure is tried again and never ends the process: the API server goes on without an answer. A
// configuration that is applied late, or anew, is trusted within a minute.
import { Counter, type Registry } from "prom-client";

import { asError } from "../../kube/abort.ts";
import { type AdmissionHandler, AdmissionServer } from "../../kube/admission/admission.ts";
import { caBundle, type ServingMaterial } from "../../kube/admission/serving-certificate.ts";
import { WebhookCertificate } from "../../kube/admission/webhook-certificate.ts";
import { trustAuthority } from "../../kube/admission/webhook-configuration.ts";
import { type Clock, sleep } from "../../kube/clock.ts";
import { whoAmI } from "../../kube/config/who-am-i.ts";
import type { Runnable } from "../../kube/process/stages.ts";
import { unless } from "../../kube/unless.ts";
import { claimHandler } from "./claim-handler.ts";
import { configurationName, paths, webhookServiceName } from "./configuration.ts";
import { launcherHandler } from "./launcher-handler.ts";
import { ClaimsView, type ClaimsViewOptions } from "./view.ts";

export interface ClaimsWebhookOptions extends ClaimsViewOptions {
  readonly clock: Clock;
  /** 0: a free one. */
  readonly port: number;
  readonly host?: string;
  /** What the API server calls us; default: our Service. */
  readonly names?: readonly string[];
  readonly onError: (error: Error) => void;
  readonly onListen?: (port: number) => void;
  readonly metrics?: ReviewMetrics;
}

const lookEveryMs = 60_000;
const retryMs = 5000;
/** A review takes 5 s at most; this is a third of the 25 s that a process has to end (src/kube/process/manager.ts). */
const closeGraceMs = 8000;

export class ClaimsWebhook implements Runnable {
  readonly name = "claims webhook";
  readonly #options: ClaimsWebhookOptions;
  readonly #certificate: WebhookCertificate;
  #server: AdmissionServer | undefined;
  #serving = "";
  /** Who we are to the API server; empty: not asked yet, and nothing is served before. */
  #self = "";

  constructor(options: ClaimsWebhookOptions) {
    this.#options = options;
    const { client, systemNamespace: namespace, clock } = options;
    const names = options.names ?? [`${webhookServiceName}.${namespace}.svc`];
    this.#certificate = new WebhookCertificate({ client, namespace, name: webhookServiceName, names, clock });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.#options;
    while (!signal.aborted) {
      let waitMs = lookEveryMs;
      try {
        await this.#look(signal);
      } catch (error) {
        if (!signal.aborted) onError(asError(error));
        waitMs = retryMs;
      }
      await sleep(clock, waitMs, signal);
    }
    await this.#server?.close(AbortSignal.timeout(closeGraceMs));
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    if (this.#self === "") this.#self = (await whoAmI(client, signal)) ?? "";
    if (this.#self === "")
      throw new Error("the API server does not say who this controller is (SelfSubjectReview): try again.");
    const material = await this.#certificate.ensure(signal);
    await this.#serve(material);
    for (const kind of ["mutating", "validating"] as const) {
      // One of the two webhooks may be left out.
      await unless(["not-found"], trustAuthority(client, kind, configurationName, caBundle(material), { signal }));
    }
  }

  async #serve({ serving }: ServingMaterial): Promise<void> {
    if (this.#server === undefined) {
      const { port, host, onError, onListen } = this.#options;
      const at = { port, ...(host !== undefined && { host }) };
      const server = new AdmissionServer({ ...at, handlers: this.#handlers(), certificate: serving, onError });
      const listening = await server.listen(); // by itself: onListen?.() evaluates its arguments only if set
      this.#server = server;
      onListen?.(listening);
    } else if (this.#serving !== serving.cert) this.#server.setCertificate(serving);
    this.#serving = serving.cert;
  }

  #handlers(): Record<string, AdmissionHandler> {
    const view = new ClaimsView(this.#options);
    const { metrics } = this.#options;
    const counted = (path: string, handler: AdmissionHandler): AdmissionHandler =>
      metrics?.counted(path, handler) ?? handler;
    const claims = claimHandler(view, () => this.#self);
    return {
      [paths.launcher]: counted(paths.launcher, launcherHandler(view)),
      [paths.claim]: counted(paths.claim, claims),
    };
  }
}

export class ReviewMetrics {
  readonly #reviews: Counter<"path" | "answer">;

  constructor(registry: Registry) {
    this.#reviews = new Counter({
      name: "holdfast_claims_reviews_total",
      help: "Reviews of launcher pods and claims: allowed, changed, refused; failed are those that the API server went on without.",
      labelNames: ["path", "answer"],
      registers: [registry],
    });
  }

  counted(path: string, handler: AdmissionHandler): AdmissionHandler {
    const count = (answer: string) => this.#reviews.inc({ path, answer });
    return async (request, context) => {
      try {
        const reply = await handler(request, context);
        count(!reply.allowed ? "refused" : (reply.patch ?? []).length > 0 ? "changed" : "allowed");
        return reply;
      } catch (error) {
        count("failed");
        throw error;
      }
    };
  }
}
