// kubelet makes a failed sandbox again after 10 to 15 s, which no setting changes, and at once when its pod changes.
// While this lives, such pods change every two seconds: a story that lets kubelet fail goes on when it can.
import { setTimeout as sleep } from "node:timers/promises";

import type { Rest } from "./rest.ts";

interface Failure {
  readonly involvedObject: { readonly namespace: string; readonly name: string; readonly uid: string };
}
interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
    readonly status: { readonly phase: string };
  }[];
}

const everyMs = 2000;
const failures = "/api/v1/events?fieldSelector=reason=FailedCreatePodSandBox";
const pending = "/api/v1/pods?fieldSelector=status.phase=Pending";

export class SandboxRetries {
  readonly #rest: Rest;
  readonly #stopped = new AbortController();
  readonly #ended: Promise<void>;
  #round = 0;

  constructor(rest: Rest) {
    this.#rest = rest;
    this.#ended = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {});
      // The API server may be away, which is often what the story is about.
      if (!signal.aborted) await this.#touch().catch(() => {});
    }
  }

  async #touch(): Promise<void> {
    const { items: failed } = await this.#rest.get<{ items: readonly Failure[] }>(failures);
    if (failed.length === 0) return;
    const uids = new Set(failed.map(({ involvedObject }) => involvedObject.uid));
    const { items: pods } = await this.#rest.get<Pods>(pending);
    const annotations = { "holdfast.io/lab-round": String(++this.#round) };
    for (const { metadata } of pods.filter(({ metadata: { uid } }) => uids.has(uid))) {
      await this.#rest.patch(`/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`, {
        metadata: { annotations },
      });
    }
  }
}
