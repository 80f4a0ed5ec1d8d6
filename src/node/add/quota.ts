// How many addresses a namespace may hold: its annotation holdfast.io/max-addresses. Promised: no answer above the
// limit. Holds are counted before the take, and again after it: of several that race for the last address all see too
// many and give back. The annotation is read every few seconds at most, so a new limit counts from then on; holds stay.
import { holdfastGroup } from "../../api/kind.ts";
import { namespaces } from "../../cluster/resources.ts";
import { CniError, errorCodes } from "../../cni/error.ts";
import { Recent } from "../../kube/cache/recent.ts";
import { listHolds } from "../../ledger/reservation/list-holds.ts";
import type { Log } from "../../log/log.ts";
import type { DaemonOptions } from "../context.ts";
import { SingleFlight } from "../single-flight.ts";

export const quotaAnnotation = `${holdfastGroup}/max-addresses`;
const rememberMs = 5000;
/** Namespaces with pods on one node: some hundred at most. */
const maxRemembered = 1024;

export interface QuotaOptions extends Pick<DaemonOptions, "client" | "log"> {
  readonly now: () => number;
}

export class Quota {
  readonly #options: QuotaOptions;
  /** Namespace -> its limit, and when it was read. */
  readonly #limits = new Recent<{ readonly limit: number | undefined; readonly readMs: number }>(maxRemembered);

  /** Namespace -> the read under way: requests of one moment need one. */
  readonly #reads = new SingleFlight<number | undefined>({ keep: false });

  constructor(options: QuotaOptions) {
    this.#options = options;
  }

  async limitOf(namespace: string, signal: AbortSignal): Promise<number | undefined> {
    const { now } = this.#options;
    const known = this.#limits.get(namespace);
    if (known !== undefined && now() - known.readMs < rememberMs) return known.limit;
    const readMs = now();
    const limit = await this.#reads.get(namespace, signal, (own) => this.#read(namespace, own));
    this.#limits.set(namespace, { limit, readMs });
    return limit;
  }

  /** Code 101 where the namespace would hold more than its limit with `more` added. */
  async assertRoom(namespace: string, limit: number, more: number, signal: AbortSignal): Promise<void> {
    let count = 0;
    for await (const _ of listHolds(this.#options.client, { podNamespace: namespace, signal })) count += 1;
    if (count + more <= limit) return;
    throw new CniError(
      errorCodes.refused,
      `namespace ${namespace} may hold ${limit} addresses (annotation ${quotaAnnotation}), and ${count + more} would be too many: ` +
        "delete pods there, or raise the limit.",
    );
  }

  async #read(name: string, signal: AbortSignal): Promise<number | undefined> {
    // podman's containers have a namespace that Kubernetes does not know.
    const found = await this.#options.client.lookUp(namespaces, { name }, { resourceVersion: "0", signal });
    return parseLimit(found?.metadata.annotations?.[quotaAnnotation], name, this.#options.log);
  }
}

/** A limit that cannot be read is none, with a warning: refusing every pod of the namespace would be worse. */
function parseLimit(text: string | undefined, namespace: string, log: Log): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  log.warn(
    `namespace ${namespace}: ${quotaAnnotation} is ${JSON.stringify(text)}, which is no number: write digits. It is ignored.`,
  );
  return undefined;
}
