// The webhooks of one replica: the replicas' common certificate, one server for all of them, and the configurations
// that trust it. Promised: a failure is tried again and never ends the process: the API server goes on without an
// answer. A configuration that is applied late, or anew, is trusted within a minute.
import type { Counter, Registry } from "prom-client";

import { asError } from "../abort.ts";
import { type Clock, deadline, sleep } from "../clock.ts";
import { whoAmI } from "../config/who-am-i.ts";
import { measuresIn } from "../process/measures.ts";
import type { Runnable } from "../process/stages.ts";
import type { KubeClient } from "../rest.ts";
import { unless } from "../unless.ts";
import { type AdmissionHandler, AdmissionServer } from "./admission.ts";
import { caBundle, type ServingMaterial } from "./serving-certificate.ts";
import { WebhookCertificate } from "./webhook-certificate.ts";
import { trustAuthority } from "./webhook-configuration.ts";

/** Key: path. */
export type Handlers = Readonly<Record<string, AdmissionHandler>>;

export interface WebhookServerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Where the Secret with the certificate and the Service are. */
  readonly namespace: string;
  /** Of the Secret and of the Service. */
  readonly service: string;
  /** `self`: the name that the API server knows this controller by. */
  readonly handlers: (self: () => string) => Handlers;
  /** Names of the configurations that lead here, mutating and validating. Those that are not there are left out. */
  readonly configurations: readonly string[];
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

export class WebhookServer implements Runnable {
  readonly name = "webhooks";
  readonly #options: WebhookServerOptions;
  readonly #certificate: WebhookCertificate;
  #server: AdmissionServer | undefined;
  #serving = "";
  /** Who we are to the API server; empty: not asked yet, and nothing is served before. */
  #self = "";

  constructor(options: WebhookServerOptions) {
    this.#options = options;
    const { client, namespace, service, clock } = options;
    const names = options.names ?? [`${service}.${namespace}.svc`];
    this.#certificate = new WebhookCertificate({ client, namespace, name: service, names, clock });
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
    using limit = deadline(clock, closeGraceMs);
    await this.#server?.close(limit.signal);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { client, configurations } = this.#options;
    if (this.#self === "") this.#self = (await whoAmI(client, signal)) ?? "";
    if (this.#self === "")
      throw new Error("the API server does not say who this controller is (SelfSubjectReview): try again.");
    const material = await this.#certificate.ensure(signal);
    await this.#serve(material);
    const trusts = configurations.flatMap((name) =>
      (["mutating", "validating"] as const).map((kind) =>
        // Any of them may be left out.
        unless(["not-found"], trustAuthority(client, kind, name, caBundle(material), { signal })),
      ),
    );
    // All are tried: one that may not be written must not keep the others from being trusted.
    const failed = (await Promise.allSettled(trusts)).find((each) => each.status === "rejected");
    if (failed !== undefined) throw asError(failed.reason);
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

  #handlers(): Handlers {
    const { handlers, metrics } = this.#options;
    const entries = Object.entries(handlers(() => this.#self));
    return Object.fromEntries(entries.map(([path, handler]) => [path, metrics?.counted(path, handler) ?? handler]));
  }
}

export class ReviewMetrics {
  readonly #reviews: Counter<"path" | "answer">;

  constructor(registry: Registry) {
    const help = "Reviews by webhook: allowed, changed, refused; failed are those that the API server went on without.";
    this.#reviews = measuresIn(registry).counter("holdfast_webhook_reviews_total", help, "path", "answer");
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
