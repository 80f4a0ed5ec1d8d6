// What the daemon measures of itself, for Prometheus: docs/node.md has a line for each.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

import type { CallReport } from "../kube/call.ts";
import type { Observe } from "./handler.ts";
import type { Pictures } from "./pictures.ts";

/** An ADD is one write, 4 ms alone and a second in a burst of a thousand daemons; the deadline is 100 s. */
const secondsBuckets = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100];

export interface Watched {
  readonly pictures: Pick<Pictures, "all">;
  readonly pendingReleases: () => number;
  readonly held: () => number;
  readonly inWork: () => number;
  readonly reassert: { readonly conflicts: number };
}

export class NodeMetrics {
  readonly #requests: Counter<"command" | "code">;
  readonly #seconds: Histogram<"command">;
  readonly #conflicts: Counter;
  readonly #calls: Counter<"verb" | "code">;
  readonly #probes: Counter<"outcome">;
  readonly #fenced: Counter;
  readonly #taken: Counter<"outcome">;
  readonly #reasserted: Counter;
  readonly #registers: Registry[];

  constructor(registry: Registry) {
    this.#registers = [registry];
    const registers = this.#registers;
    this.#requests = new Counter({
      name: "holdfast_cni_requests_total",
      help: "Requests of the runtime, by command and CNI error code; 0 is success.",
      labelNames: ["command", "code"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "holdfast_cni_request_duration_seconds",
      help: "Time from the request to the answer.",
      labelNames: ["command"],
      buckets: secondsBuckets,
      registers,
    });
    this.#conflicts = new Counter({
      name: "holdfast_conflicts_total",
      help: "Takes that found the address held or cooling: how far the picture was behind.",
      registers,
    });
    this.#calls = new Counter({
      name: "holdfast_api_calls_total",
      help: "Calls to the API server, by verb and status; 0 is no answer.",
      labelNames: ["verb", "code"],
      registers,
    });
    this.#probes = new Counter({
      name: "holdfast_probes_total",
      help: "Questions on the wire whether an address is in use, by outcome.",
      labelNames: ["outcome"],
      registers,
    });
    this.#taken = new Counter({
      name: "holdfast_kept_deletes_total",
      help: "DELs that the plugin kept while no daemon answered: done, or discarded because the file was none.",
      labelNames: ["outcome"],
      registers,
    });
    this.#fenced = new Counter({
      name: "holdfast_sandboxes_fenced_total",
      help: "Interfaces of old sandboxes that were taken down, since a VM runs elsewhere with their address.",
      registers,
    });
    this.#reasserted = new Counter({
      name: "holdfast_reasserted_total",
      help: "Holds of live sandboxes that the API server had lost, and that were made again.",
      registers,
    });
  }

  readonly request: Observe = ({ command, code, durationMs }) => {
    this.#requests.inc({ command, code: String(code) });
    this.#seconds.observe({ command }, durationMs / 1000);
  };

  readonly conflict = (): void => this.#conflicts.inc();

  readonly call = ({ method, status }: CallReport): void => {
    this.#calls.inc({ verb: method, code: String(status) });
  };

  readonly probe = (outcome: "free" | "duplicate" | "failed"): void => this.#probes.inc({ outcome });

  readonly taken = (outcome: "done" | "discarded"): void => this.#taken.inc({ outcome });

  readonly fenced = (): void => this.#fenced.inc();

  readonly reasserted = (): void => this.#reasserted.inc();

  /** Gauges that are read when somebody looks. */
  watch({ pictures, pendingReleases, held, inWork, reassert }: Watched): void {
    for (const name of watched) this.#registers[0]!.removeSingleMetric(name); // of a daemon that ran before in this process
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers: this.#registers,
        collect() {
          this.set(read());
        },
      });
    gauge("holdfast_releases_pending", "Releases that were promised and are still to be done.", pendingReleases);
    gauge("holdfast_held_addresses", "Addresses that this node holds.", held);
    gauge("holdfast_cni_requests_in_work", "Requests that are being worked on.", inWork);
    const inUse = "Addresses that a sandbox of this node uses and another holds: the API server had lost the hold.";
    gauge("holdfast_addresses_in_conflict", inUse, () => reassert.conflicts);
    const labelNames = ["domain", "range"] as const;
    const counts = (name: string, help: string, pick: (counts: { free: bigint; allocated: number }) => number) =>
      new Gauge({
        name,
        help,
        labelNames,
        registers: this.#registers,
        collect() {
          this.reset();
          for (const { namespace, domain, pool } of poolsIn(pictures)) {
            this.set({ domain: `${namespace}/${domain}`, range: String(pool.definition.prefix) }, pick(pool.counts()));
          }
        },
      });
    counts("holdfast_pool_free_seen", "Free addresses of a range, as this node sees it.", ({ free }) => Number(free));
    counts("holdfast_pool_used_seen", "Held addresses of a range, as this node sees it.", ({ allocated }) => allocated);
  }
}

const watched = [
  "holdfast_releases_pending",
  "holdfast_held_addresses",
  "holdfast_cni_requests_in_work",
  "holdfast_addresses_in_conflict",
  "holdfast_pool_free_seen",
  "holdfast_pool_used_seen",
];

function* poolsIn(pictures: Watched["pictures"]) {
  for (const picture of pictures.all()) {
    for (const pool of picture.pools()) yield { namespace: picture.namespace, domain: picture.domain, pool };
  }
}
