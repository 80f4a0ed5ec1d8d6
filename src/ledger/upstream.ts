// (body follows)
import type { KubeClient } from "../kube/rest.ts";

export interface UpstreamOptions {
  readonly systemNamespace: string;
  /** The wall clock: leases and managed fields carry its time. */
  readonly now: () => number;
  readonly signal?: AbortSignal;
}

export interface Upstream {
  /** Some writer of whereabouts' objects that is not ours is, or was lately, at work. */
  readonly active: boolean;
  /** Something that frees addresses runs: holds need their finalizer. */
  readonly reconciler: boolean;
  /** Sentences: what was found. */
  readonly why: readonly string[];
}

export async function detectUpstream(_client: KubeClient, _options: UpstreamOptions): Promise<Upstream> {
  throw new Error("not built yet");
}
