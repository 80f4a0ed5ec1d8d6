// What the runtime measures of itself, for Prometheus. Names follow controller-runtime's, so that known dashboards fit.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

import type { CallReport } from "../call.ts";
import type { ControllerObserver } from "../queue/controller.ts";
import { nextTurn } from "../turns.ts";
import { StreamedGauge } from "./streamed-gauge.ts";

const secondsBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** As much of an answer is made before the scraper has to take it. */
const chunkChars = 65_536;

function metricsIn(registry: Registry) {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers });
  const seconds = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Histogram({ name, help, labelNames, registers, buckets: secondsBuckets });
  const calls = "Calls to the API server, by status; 0 is no answer.";
  return {
    calls: counter("rest_client_requests_total", calls, "method", "code"),
    callSeconds: seconds("rest_client_request_duration_seconds", "Time to the end of the answer.", "method"),
    reconciles: counter("controller_runtime_reconcile_total", "Reconciles, by outcome.", "controller", "result"),
    reconcileSeconds: seconds("controller_runtime_reconcile_time_seconds", "Time per reconcile.", "controller"),
    busy: gauge("controller_runtime_active_workers", "Workers at work.", "controller"),
    depth: gauge("workqueue_depth", "Keys that wait.", "name"),
    adds: counter("workqueue_adds_total", "Keys added.", "name"),
    retries: counter("workqueue_retries_total", "Keys added again after a failure.", "name"),
    waitSeconds: seconds("workqueue_queue_duration_seconds", "Time from add to take.", "name"),
    leading: gauge("leader_election_master_status", "1 while this process leads.", "name"),
  };
}

export class KubeMetrics {
  readonly #registry: Registry;
  readonly #metrics: ReturnType<typeof metricsIn>;

  constructor(registry: Registry) {
    this.#registry = registry;
    this.#metrics = metricsIn(registry);
  }

  readonly call = ({ method, status, durationMs }: CallReport): void => {
    this.#metrics.calls.inc({ method, code: String(status) });
    if (method !== "WATCH") this.#metrics.callSeconds.observe({ method }, durationMs / 1000);
  };

  controller(name: string): ControllerObserver {
    return {
      reconciled: (result, durationMs) => {
        this.#metrics.reconciles.inc({ controller: name, result });
        this.#metrics.reconcileSeconds.observe({ controller: name }, durationMs / 1000);
      },
      busy: (workers) => this.#metrics.busy.set({ controller: name }, workers),
      depth: (keys) => this.#metrics.depth.set({ name }, keys),
      added: () => this.#metrics.adds.inc({ name }),
      retried: () => this.#metrics.retries.inc({ name }),
      waited: (ms) => this.#metrics.waitSeconds.observe({ name }, ms / 1000),
    };
  }

  leading(name: string, leads: boolean): void {
    this.#metrics.leading.set({ name }, leads ? 1 : 0);
  }

  /** The text in pieces: a scraper that reads slowly holds up no memory. */
  expose(): { readonly text: AsyncIterable<string>; readonly contentType: string } {
    return { text: this.#text(), contentType: this.#registry.contentType };
  }

  async *#text(): AsyncIterable<string> {
    let chunk = "";
    for await (const text of this.#pieces()) {
      chunk += text;
      if (chunk.length < chunkChars) continue;
      yield chunk;
      chunk = "";
      // A reader that keeps up would have all of it in one turn of the event loop: a second for 100,000 series.
      await nextTurn();
    }
    yield chunk;
  }

  async *#pieces(): AsyncIterable<string> {
    for (const { name } of this.#registry.getMetricsAsArray()) {
      const metric = this.#registry.getSingleMetric(name);
      if (metric instanceof StreamedGauge) yield* metric.lines();
      else if (metric !== undefined) yield `${await this.#registry.getSingleMetricAsString(name)}\n`;
      yield "\n";
    }
  }
}
