// Looks out for kubevirt/ipam-extensions beside us: it makes claims of the same names and takes its own finalizer off them. Said once
// when it is seen, and once when it is gone: a metric, a line, an event.
import { claimOwnerAnnotation, upstreamClaimFinalizer } from "../api/claim-marks.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { DeepReadonly } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Followed } from "../ledger/followed.ts";
import type { StoredClaim } from "../ledger/resources.ts";
import { stateName } from "../ledger/state.ts";
import type { Log } from "../log/log.ts";
import { readExtensions } from "./extensions.ts";

export interface BesideOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly systemNamespace: string;
  readonly claims: Followed<StoredClaim>;
  readonly events?: EventRecorder;
  readonly onChange?: (isThere: boolean) => void;
}

/** Two small lists; somebody who installs it is told within ten minutes. */
const intervalMs = 600_000;
const retryMs = 10_000;

export class Beside {
  readonly #options: BesideOptions;
  #isThere: boolean | undefined;

  constructor(options: BesideOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isLooked = await this.#look(signal);
      await sleep(this.#options.clock, isLooked ? intervalMs : retryMs, signal);
    }
  }

  /** False: the server did not answer. */
  async #look(signal: AbortSignal): Promise<boolean> {
    const { client, log } = this.#options;
    try {
      const { objects } = await readExtensions(client, signal);
      const claims = [...this.#options.claims.cache.list()].filter(isTheirs).length;
      const left = claims === 0 ? [] : [`${claims} claims with its finalizer ${upstreamClaimFinalizer}`];
      this.#tell([...objects, ...left]);
      return true;
    } catch (error) {
      if (!signal.aborted)
        log.warn("whether kubevirt/ipam-extensions is here could not be seen; it is tried again", { error });
      return false;
    }
  }

  #tell(found: readonly string[]): void {
    const { log, events, onChange, systemNamespace: namespace } = this.#options;
    const isThere = found.length > 0;
    const wasThere = this.#isThere === true;
    const isNew = this.#isThere !== isThere;
    this.#isThere = isThere;
    if (isNew) onChange?.(isThere);
    if (isThere === wasThere) return;
    const about = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: stateName } };
    if (!isThere) {
      log.info("kubevirt/ipam-extensions is gone from this cluster");
      events?.record(about, "Normal", "IpamExtensionsGone", "kubevirt/ipam-extensions is gone from this cluster.");
      return;
    }
    const words =
      `kubevirt/ipam-extensions is in this cluster too (${found.join("; ")}): its claims are left alone. ` +
      "Remove it, then take its claims over: holdfast claims takeover.";
    log.warn(words);
    events?.record(about, "Warning", "IpamExtensionsBeside", words);
  }
}

/** Made by it, and not taken over. */
function isTheirs({ metadata }: DeepReadonly<StoredClaim>): boolean {
  const isMarked = metadata.finalizers?.includes(upstreamClaimFinalizer) === true;
  return isMarked && metadata.annotations?.[claimOwnerAnnotation] === undefined;
}
