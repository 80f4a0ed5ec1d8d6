// How the webhooks answer, for Prometheus.
import { Counter, type Registry } from "prom-client";

import type { AdmissionHandler } from "../../kube/admission.ts";

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
