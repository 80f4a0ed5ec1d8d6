// Looks for duplicates again and again while something else goes on; what it finds once is never forgotten.
import { setTimeout as sleep } from "node:timers/promises";

import type { Cluster } from "../cluster.ts";
import { duplicates, kernelAddresses } from "./addresses.ts";

/** A freed address rests for 30 s: one given twice is seen twice. */
const everyMs = 2000;

export class Sampler {
  readonly #lab: Cluster;
  readonly #stopped = new AbortController();
  readonly #found = new Set<string>();
  readonly #ended: Promise<void>;
  samples = 0;
  mostAtOnce = 0;

  constructor(lab: Cluster) {
    this.#lab = lab;
    this.#ended = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await this.look();
      await sleep(everyMs, undefined, { signal: this.#stopped.signal }).catch(() => {});
    }
  }

  /** One look at every node that can be looked at now: one without power has no sandboxes. */
  async look(): Promise<void> {
    const views = await Promise.allSettled(this.#lab.nodes.map(async (node) => kernelAddresses(node)));
    const seen = views.flatMap((view) => (view.status === "fulfilled" ? view.value : []));
    this.samples++;
    this.mostAtOnce = Math.max(this.mostAtOnce, seen.length);
    for (const each of duplicates(seen)) this.#found.add(each);
  }

  /** Everything that was ever found twice. */
  get found(): readonly string[] {
    return [...this.#found];
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#ended;
  }
}
