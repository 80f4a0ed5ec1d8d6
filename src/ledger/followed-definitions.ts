// Network attachment definitions, followed as soon as the cluster has the kind: it may get its multi-network plugin after us.
import { type Clock, sleep } from "../kube/clock.ts";
import { isApiError } from "../kube/errors.ts";
import { Informer } from "../kube/informer.ts";
import type { DeepReadonly } from "../kube/meta.ts";
import { pathOf } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Runnable } from "../kube/stages.ts";
import { type NetworkAttachmentDefinition, networkAttachmentDefinitions } from "./resources.ts";

export interface FollowedDefinitionsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

const servedRetryMs = 30_000;

export class FollowedDefinitions {
  readonly #options: FollowedDefinitionsOptions;
  readonly #informer: Informer<NetworkAttachmentDefinition>;
  /** Whether the cluster has the kind; undefined: nobody has asked yet. */
  #isServed: boolean | undefined;

  constructor(options: FollowedDefinitionsOptions) {
    this.#options = options;
    this.#informer = new Informer({ ...options, resource: networkAttachmentDefinitions });
  }

  readonly follow: Runnable = {
    name: "network attachment definitions",
    run: async (signal) => {
      const { client, clock } = this.#options;
      while (!signal.aborted && !(await isServed(client, signal))) {
        this.#isServed = false;
        await sleep(clock, servedRetryMs, signal);
      }
      this.#isServed = true;
      if (!signal.aborted) await this.#informer.run(signal);
    },
  };

  /** Undefined: they have not been listed yet. */
  list(): readonly DeepReadonly<NetworkAttachmentDefinition>[] | undefined {
    if (this.#isServed === undefined || (this.#isServed && !this.#informer.hasSynced)) return undefined;
    return [...this.#informer.cache.list()];
  }

  /** Told after every change; the returned function ends it. */
  handle(changed: () => void): () => void {
    return this.#informer.handle(changed);
  }
}

async function isServed(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    await client.raw(`${pathOf(networkAttachmentDefinitions, {})}?limit=1`, { signal });
    return true;
  } catch (error) {
    // Anything but "no such kind" is the informer's to retry.
    return !isApiError(error, "not-found") && !signal.aborted;
  }
}
