// What the daemon measures of itself, for Prometheus: docs/node.md has a line for each.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

import type { CallReport } from "../kube/call.ts";
import type { PoolResolver } from "./pools/pool-resolver.ts";
import type { Observe } from "./request/handler.ts";

/** An ADD is one write, 4 ms alone and a second in a burst of a thousand daemons; the deadline is 100 s. */
const secondsBuckets = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100];

export interface Watched {
  readonly poolResolver: Pick<PoolResolver, "all">;
  readonly pendingReleases: () => number;
  readonly held: () => number;
  readonly inWork: () => number;
  readonly reassert: { readonly conflicts: number };
}

export class NodeMetrics {
  readonly request: Observe;
  readonly conflict: () => void;
  readonly call: (report: CallReport) => void;
  readonly probe: (outcome: "free" | "duplicate" | "failed") => void;
  readonly taken: (outcome: "done" | "discarded") => void;
  readonly fenced: () => void;
  readonly reasserted: () => void;
  readonly #registers: Registry[];

  constructor(registry: Registry) {
    const registers = [registry];
    this.#registers = registers;
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers });
    const requests = counter(
      "holdfast_cni_requests_total",
      "Requests of the runtime, by command and CNI error code; 0 is success.",
      "command",
      "code",
    );
    const seconds = new Histogram({
      name: "holdfast_cni_request_duration_seconds",
      help: "Time from the request to the answer.",
      labelNames: ["command"],
      buckets: secondsBuckets,
      registers,
    });
    this.request = ({ command, code, durationMs }) => {
      requests.inc({ command, code: String(code) });
      seconds.observe({ command }, durationMs / 1000);
    };
    const conflicts = counter(
      "holdfast_conflicts_total",
      "Takes that found the address held or cooling: how far the picture was behind.",
    );
    this.conflict = () => conflicts.inc();
    const calls = counter(
      "holdfast_api_calls_total",
      "Calls to the API server, by verb and status; 0 is no answer.",
      "verb",
      "code",
    );
    this.call = ({ method, status }) => calls.inc({ verb: method, code: String(status) });
    const probes = counter(
      "holdfast_probes_total",
      "Questions on the wire whether an address is in use, by outcome.",
      "outcome",
    );
    this.probe = (outcome) => probes.inc({ outcome });
    const kept = counter(
      "holdfast_kept_deletes_total",
      "DELs that the plugin kept while no daemon answered: done, or discarded because the file was none.",
      "outcome",
    );
    this.taken = (outcome) => kept.inc({ outcome });
    const fenced = counter(
      "holdfast_sandboxes_fenced_total",
      "Interfaces of old sandboxes that were taken down, since a VM runs elsewhere with their address.",
    );
    this.fenced = () => fenced.inc();
    const reasserted = counter(
      "holdfast_reasserted_total",
      "Holds of live sandboxes that the API server had lost, and that were made again.",
    );
    this.reasserted = () => reasserted.inc();
  }

  /** Gauges that are read when somebody looks. */
  watch({ poolResolver, pendingReleases, held, inWork, reassert }: Watched): void {
    const registers = this.#registers;
    const gauge = (name: string, help: string, labelNames: string[], collect: (gauge: Gauge) => void) => {
      registers[0]!.removeSingleMetric(name); // of a daemon that ran before in this process
      return new Gauge({
        name,
        help,
        labelNames,
        registers,
        collect() {
          collect(this);
        },
      });
    };
    const count = (name: string, help: string, read: () => number) => gauge(name, help, [], (own) => own.set(read()));
    count("holdfast_releases_pending", "Releases that were promised and are still to be done.", pendingReleases);
    count("holdfast_held_addresses", "Addresses that this node holds.", held);
    count("holdfast_cni_requests_in_work", "Requests that are being worked on.", inWork);
    const inUse = "Addresses that a sandbox of this node uses and another holds: the API server had lost the hold.";
    count("holdfast_addresses_in_conflict", inUse, () => reassert.conflicts);
    const counts = (name: string, help: string, pick: (counts: { free: bigint; allocated: number }) => number) =>
      gauge(name, help, ["domain", "range"], (own) => {
        own.reset();
        for (const picture of poolResolver.all()) {
          const domain = `${picture.namespace}/${picture.domain}`;
          for (const pool of picture.pools())
            own.set({ domain, range: String(pool.definition.prefix) }, pick(pool.counts()));
        }
      });
    counts("holdfast_pool_free_seen", "Free addresses of a range, as this node sees it.", ({ free }) => Number(free));
    counts("holdfast_pool_used_seen", "Held addresses of a range, as this node sees it.", ({ allocated }) => allocated);
  }
}
