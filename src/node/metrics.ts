// The daemon's measures of itself, for Prometheus: docs/node.md has a line for each.
import type { Registry } from "prom-client";

import type { Pool } from "../ipam/pool.ts";
import type { CallReport } from "../kube/call.ts";
import { measuresIn } from "../kube/process/measures.ts";
import type { PoolResolver } from "./pools/pool-resolver.ts";
import type { Observe } from "./request/handler.ts";
import type { SliceAgent } from "./slices/agent.ts";

/** An ADD is one write, 4 ms alone and a second in a burst of a thousand daemons; the deadline is 100 s. */
const secondsBuckets = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100];

export interface Watched {
  readonly intents: { readonly size: number };
  /** Addresses of shared ranges. */
  readonly held: { readonly size: number };
  readonly server: { readonly inWork: number };
  readonly reassert: { readonly conflicts: number };
  readonly poolResolver: Pick<PoolResolver, "all">;
  readonly agent: Pick<SliceAgent, "figures">;
}

export type NodeMetrics = ReturnType<typeof nodeMetrics>;

export function nodeMetrics(registry: Registry) {
  const { counter, seconds: timed } = measuresIn(registry);
  const count = (name: string, help: string) => {
    const made = counter(name, help);
    return () => made.inc();
  };
  const inWords = "Requests of the runtime, by command and CNI error code; 0 is success.";
  const requests = counter("holdfast_cni_requests_total", inWords, "command", "code");
  const toAnswer = "Time from the request to the answer.";
  const seconds = timed("holdfast_cni_request_duration_seconds", toAnswer, secondsBuckets, "command");
  const byVerb = "Calls to the API server, by verb and status; 0 is no answer.";
  const calls = counter("holdfast_api_calls_total", byVerb, "verb", "code");
  const onWire = "Questions on the wire whether an address is in use, by outcome.";
  const probes = counter("holdfast_probes_total", onWire, "outcome");
  const kept = counter(
    "holdfast_kept_deletes_total",
    "DELs that the plugin kept while no daemon answered: done, or discarded because the file was none.",
    "outcome",
  );
  return {
    request: ({ command, code, durationMs }: Parameters<Observe>[0]) => {
      requests.inc({ command, code: String(code) });
      seconds.observe({ command }, durationMs / 1000);
    },
    call: ({ method, status }: CallReport) => calls.inc({ verb: method, code: String(status) }),
    probe: (outcome: "free" | "duplicate" | "failed") => probes.inc({ outcome }),
    taken: (outcome: "done" | "discarded") => kept.inc({ outcome }),
    conflict: count(
      "holdfast_conflicts_total",
      "Takes that found the address held or cooling: how far the picture was behind.",
    ),
    fenced: count(
      "holdfast_sandboxes_fenced_total",
      "Interfaces of old sandboxes that were taken down, since a VM runs elsewhere with their address.",
    ),
    reasserted: count(
      "holdfast_reasserted_total",
      "Holds of live sandboxes that the API server had lost, and that were made again.",
    ),
    orphan: count("holdfast_slice_orphans_total", "Addresses of slices that were freed since their pods are gone."),
    watch: (watched: Watched) => watch(registry, watched),
  };
}

/** Gauges that are read at each scrape. */
function watch(registry: Registry, { intents, held, server, reassert, poolResolver, agent }: Watched): void {
  const { asked } = measuresIn(registry);
  const count = (name: string, help: string, read: () => number) => asked(name, help, [], () => [[{}, read()]]);
  count("holdfast_releases_pending", "Releases that were promised and are still to be done.", () => intents.size);
  count("holdfast_held_addresses", "Addresses that this node holds.", () => held.size + agent.figures.holds);
  count("holdfast_cni_requests_in_work", "Requests that are being worked on.", () => server.inWork);
  const inUse = "Addresses that a sandbox of this node uses and another holds: the API server had lost the hold.";
  count("holdfast_addresses_in_conflict", inUse, () => reassert.conflicts);
  for (const [name, help, read] of sliceGauges) count(name, help, () => read(agent.figures));
  const counts = (name: string, help: string, pick: (counts: { free: bigint; allocated: number }) => number) =>
    asked(name, help, ["domain", "range"], () =>
      Iterator.from(poolResolver.all()).flatMap((picture) => {
        const domain = `${picture.namespace}/${picture.domain}`;
        const range = (pool: Pool) => String(pool.definition.prefix);
        return Array.from(picture.pools(), (pool) => [{ domain, range: range(pool) }, pick(pool.counts())] as const);
      }),
    );
  counts("holdfast_pool_free_seen", "Free addresses of a range, as this node sees it.", ({ free }) => Number(free));
  counts("holdfast_pool_used_seen", "Held addresses of a range, as this node sees it.", ({ allocated }) => allocated);
}

const goesOn = "How long this node still hands out of its slices without hearing from the API server.";

const sliceGauges: readonly (readonly [name: string, help: string, read: (each: SliceAgent["figures"]) => number])[] = [
  ["holdfast_slices", "Slices and pieces that this node has.", ({ slices }) => slices],
  ["holdfast_slice_holds", "Addresses that this node's journal holds.", ({ holds }) => holds],
  ["holdfast_slice_usable_addresses", "Addresses that may be handed out of slices.", ({ usable }) => usable],
  ["holdfast_slices_behind", "Slices whose IPPool is behind the journal.", ({ behind }) => behind],
  ["holdfast_slices_behind_seconds", "For how long the oldest has been behind.", ({ oldestMs }) => oldestMs / 1000],
  ["holdfast_slice_authority_seconds", goesOn, ({ authorityLeftMs }) => authorityLeftMs / 1000],
  ["holdfast_journal_bytes", "Size of the journal.", ({ bytes }) => bytes],
  ["holdfast_journal_fsyncs_total", "Flushes of the journal since the start.", ({ fsyncs }) => fsyncs],
  ["holdfast_journal_broken", "1 while the journal cannot be written.", ({ broken }) => (broken === "" ? 0 : 1)],
];
