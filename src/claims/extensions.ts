// Whether kubevirt/ipam-extensions is at work in this cluster. It makes claims too, and takes its finalizer off them: two systems that
// both think a claim theirs would each undo what the other keeps.
//
// Errs on the side of "runs": what may not be read counts as running, with the reason.
import { isApiError } from "../kube/errors.ts";
import { keyOf, type KubeObject } from "../kube/meta.ts";
import { defineResource } from "../kube/resource.ts";
import type { KubeClient } from "../kube/rest.ts";
import { type Deployment, deployments } from "../ledger/resources.ts";

export interface Extensions {
  readonly isRunning: boolean;
  /** `Kind namespace/name`. */
  readonly objects: readonly string[];
  /** Sentences: what was found. */
  readonly why: readonly string[];
}

interface Mutating extends KubeObject {
  webhooks?: { name?: string }[];
}

const configurations = defineResource<Mutating>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "mutatingwebhookconfigurations",
  kind: "MutatingWebhookConfiguration",
  namespaced: false,
});

/** What it calls its webhook, in every release so far. */
const webhookName = "ipam-claims.k8s.cni.cncf.io";
/** By its image, whoever built it: quay.io/kubevirt/ipam-controller, kubevirt-ipam-controller. */
const image = /(^|\/)[^/]*(ipam-controller|ipam-extensions|ipam-claims)[^/]*$/;
/** Its Deployment in its own manifests and in those of the network add-ons operator; the prefix has changed once. */
const deploymentName = /^kubevirt-ipam-(controller|claims)-/;

export async function readExtensions(client: KubeClient, signal: AbortSignal): Promise<Extensions> {
  const found = [
    ...(await seen("its webhook", async () => (await client.list(configurations, { signal })).items.filter(isItsHook))),
    ...(await seen("its Deployment", async () => (await client.list(deployments, { signal })).items.filter(isItself))),
  ];
  return {
    isRunning: found.length > 0,
    objects: found.flatMap(({ object }) => object ?? []),
    why: found.map(({ why }) => why),
  };
}

interface Sign {
  readonly object?: string;
  readonly why: string;
}

async function seen(what: string, look: () => Promise<readonly KubeObject[]>): Promise<Sign[]> {
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

function isItsHook({ webhooks = [] }: Mutating): boolean {
  return webhooks.some(({ name }) => name === webhookName);
}

/** One that was scaled to nothing does not run. */
function isItself({ metadata, spec }: Deployment): boolean {
  if (spec?.replicas === 0) return false;
  const containers = spec?.template?.spec?.containers ?? [];
  return deploymentName.test(metadata.name ?? "") || containers.some((each) => image.test(each.image ?? ""));
}
