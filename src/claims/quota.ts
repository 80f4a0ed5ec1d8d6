// How many claims a namespace may have: its annotation holdfast.io/max-claims. The reconciler makes no more, and the webhook, where it
// is installed, lets nobody else make more.
//
// Promised: a claim that is there is never taken away for it. Not promised: an exact limit against several who create at once by hand:
// the webhook counts before each create, and two that are counted at the same moment both pass.
import { maxClaimsAnnotation } from "../api/claim-marks.ts";
import { isApiError } from "../kube/errors.ts";
import { Recent } from "../kube/recent.ts";
import type { KubeClient } from "../kube/rest.ts";
import { namespaces } from "../ledger/resources.ts";

/** Undefined: no limit. One that cannot be read is none: refusing every VM of the namespace would be worse. */
export function claimLimit(annotations: Readonly<Record<string, string>> | undefined): number | undefined {
  const text = annotations?.[maxClaimsAnnotation] ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** How many more there may be; undefined: any number. Those that are being deleted still hold their addresses, and count. */
export function claimsLeft(limit: number | undefined, count: number): number | undefined {
  return limit === undefined ? undefined : Math.max(0, limit - count);
}

export function describeQuota(namespace: string, limit: number, count: number): string {
  return (
    `namespace ${namespace} may have ${limit} claims (annotation ${maxClaimsAnnotation}) and has ${count}: ` +
    "delete VMs or claims there, or raise the limit."
  );
}

/** One read per namespace in this time. */
const rememberMs = 5000;
/** Namespaces with VMs: thousands at the most; each entry is some hundred bytes. */
const maxRemembered = 10_000;

export interface ClaimQuotaOptions {
  readonly client: KubeClient;
  readonly now: () => number;
}

/** The limits of namespaces, each read at most every few seconds: a new one counts from then on. */
export class ClaimQuota {
  readonly #options: ClaimQuotaOptions;
  /** Namespace -> its limit, and when it was read. */
  readonly #limits = new Recent<{ readonly limit: number | undefined; readonly readMs: number }>(maxRemembered);

  constructor(options: ClaimQuotaOptions) {
    this.#options = options;
  }

  /** `count` is how many the namespace has now. Undefined: any number. */
  async left(namespace: string, count: number, signal: AbortSignal): Promise<number | undefined> {
    return claimsLeft(await this.limitOf(namespace, signal), count);
  }

  async limitOf(namespace: string, signal: AbortSignal): Promise<number | undefined> {
    const { client, now } = this.#options;
    const known = this.#limits.get(namespace);
    if (known !== undefined && now() - known.readMs < rememberMs) return known.limit;
    const readMs = now();
    const limit = await read(client, namespace, signal);
    this.#limits.set(namespace, { limit, readMs });
    return limit;
  }
}

async function read(client: KubeClient, name: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const { metadata } = await client.get(namespaces, { name }, { signal });
    return claimLimit(metadata.annotations);
  } catch (error) {
    if (isApiError(error, "not-found")) return undefined;
    throw error;
  }
}
