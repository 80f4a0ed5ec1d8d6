// Whether kubevirt/ipam-extensions runs. It makes claims too and takes its finalizer off them: two systems that both
// own a claim undo each other's work. Errs on the side of "runs": an object that may not be read counts as running,
// with the reason. A leader says once when it comes and once when it goes: a metric, a line, an event.
import { claimOwnerAnnotation, upstreamClaimFinalizer } from "../../api/claims/claim-marks.ts";
import { type Deployment, deployments, type StoredClaim } from "../../cluster/resources.ts";
import { stateReference } from "../../cluster/state.ts";
import { webhookConfigurations } from "../../kube/admission/webhook-configuration.ts";
import { sleep } from "../../kube/clock.ts";
import { isApiError } from "../../kube/errors.ts";
import { type DeepReadonly, keyOf, type KubeObject } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { ClaimCaches } from "./caches.ts";
import type { ClaimsOptions } from "./leader.ts";

export type Extensions = Awaited<ReturnType<typeof readExtensions>>;

/** What it calls its webhook, in every release so far. */
const webhookName = "ipam-claims.k8s.cni.cncf.io";
/** By its image, whoever built it: quay.io/kubevirt/ipam-controller, kubevirt-ipam-controller. */
const image = /(^|\/)[^/]*(ipam-controller|ipam-extensions|ipam-claims)[^/]*$/;
/** Its Deployment in its own manifests and in those of the network add-ons operator; the prefix has changed once. */
const deploymentName = /^kubevirt-ipam-(controller|claims)-/;

export async function readExtensions(client: KubeClient, signal: AbortSignal) {
  const found = [
    ...(await seen("its webhook", async () => {
      const { items } = await client.list(webhookConfigurations.mutating, { signal });
      return items.filter(({ webhooks = [] }) => webhooks.some(({ name }) => name === webhookName));
    })),
    ...(await seen("its Deployment", async () => (await client.list(deployments, { signal })).items.filter(isItself))),
  ];
  return {
    isRunning: found.length > 0,
    /** `Kind namespace/name`. */
    objects: found.flatMap(({ object }) => object ?? []),
    /** Sentences: what was found. */
    why: found.map(({ why }) => why),
  };
}

async function seen(
  what: string,
  look: () => Promise<readonly KubeObject[]>,
): Promise<{ object?: string; why: string }[]> {
  try {
    return (await look()).map((each) => {
      const object = `${each.kind} ${keyOf(each)}`;
      return { object, why: `${object} is ${what}.` };
    });
  } catch (error) {
    if (isApiError(error, "not-found")) return [];
    if (!isApiError(error, "forbidden")) throw error;
    return [{ why: `Whether ${what} is there cannot be seen: ${error.message}` }];
  }
}

/** One that was scaled to nothing does not run. */
function isItself({ metadata, spec }: Deployment): boolean {
  if (spec?.replicas === 0) return false;
  const containers = spec?.template?.spec?.containers ?? [];
  return deploymentName.test(metadata.name ?? "") || containers.some((each) => image.test(each.image ?? ""));
}

/** Two small lists; somebody who installs it is told within ten minutes. */
const intervalMs = 600_000;
const retryMs = 10_000;

export async function watchExtensions(
  options: ClaimsOptions,
  { claims }: ClaimCaches,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, log } = options;
  let wasThere: boolean | undefined;
  while (!signal.aborted) {
    let waitMs = intervalMs;
    try {
      const { objects } = await readExtensions(client, signal);
      const marked = [...claims.cache.list()].filter(isMarked).length;
      const left = marked === 0 ? [] : [`${marked} claims with its finalizer ${upstreamClaimFinalizer}`];
      wasThere = tell(options, [...objects, ...left], wasThere);
    } catch (error) {
      if (!signal.aborted)
        log.warn("whether kubevirt/ipam-extensions is here could not be seen; it is tried again", { error });
      waitMs = retryMs;
    }
    await sleep(clock, waitMs, signal);
  }
}

function isMarked({ metadata }: DeepReadonly<StoredClaim>): boolean {
  const isTheirs = metadata.finalizers?.includes(upstreamClaimFinalizer) === true;
  return isTheirs && metadata.annotations?.[claimOwnerAnnotation] === undefined;
}

/** Returns whether it is there. */
function tell(options: ClaimsOptions, found: readonly string[], wasThere: boolean | undefined): boolean {
  const { log, events, metrics, systemNamespace: namespace } = options;
  const isThere = found.length > 0;
  if (isThere !== wasThere) metrics?.upstream(isThere);
  if (isThere === (wasThere === true)) return isThere;
  const about = stateReference(namespace);
  if (!isThere) {
    log.info("kubevirt/ipam-extensions is gone from this cluster");
    events?.record(about, "Normal", "IpamExtensionsGone", "kubevirt/ipam-extensions is gone from this cluster.");
    return false;
  }
  const words =
    `kubevirt/ipam-extensions is in this cluster too (${found.join("; ")}): its claims are left alone. ` +
    "Remove it, then take its claims over: holdfast claims takeover.";
  log.warn(words);
  events?.record(about, "Warning", "IpamExtensionsBeside", words);
  return true;
}
