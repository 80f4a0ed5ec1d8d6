// Whether OVN-Kubernetes runs in this cluster: two that write one northbound database undo each other's work, so beside
// it nothing is written. Decided from DaemonSets and Deployments of namespaces in which only administrators write: what
// a tenant calls `ovnkube-node` stops nobody. Errs on the side of "runs" until it could be looked for once.
//
// Annotations k8s.ovn.org/* of nodes say nothing: they stay when it has gone, and Holdfast writes the same.
import { type Clock, sleep } from "../kube/clock.ts";
import { keyOf } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import { type DaemonSet, daemonSets, type Deployment, deployments } from "./resources.ts";

/** Where its own manifests, its chart and OpenShift put it. */
const ovnkubeNamespaces: readonly string[] = ["ovn-kubernetes", "openshift-ovn-kubernetes", "kube-system"];
/** Every part of it: ovnkube-node, ovnkube-master, ovnkube-control-plane, ovnkube-single-node-zone, ovnkube-db. */
const part = /^ovnkube-/;

/** Sentences: what was found. Throws where it cannot be seen. */
async function findOvnkube(client: KubeClient, namespaces: readonly string[], signal: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  for (const namespace of namespaces) {
    const sets = await client.list(daemonSets, { namespace, signal });
    const replicated = await client.list(deployments, { namespace, signal });
    found.push(...sets.items.filter(isSetRunning).map((each) => `DaemonSet ${keyOf(each)} runs.`));
    found.push(...replicated.items.filter(isDeploymentRunning).map((each) => `Deployment ${keyOf(each)} runs.`));
  }
  return found;
}

/** A DaemonSet, a Deployment or a pod of it. */
export function isOfOvnkube({ namespace = "", name = "" }: { readonly namespace?: string; readonly name?: string }) {
  return ovnkubeNamespaces.includes(namespace) && part.test(name);
}

/** One that no node is to run does not run; of a new one nobody has counted yet. */
function isSetRunning({ metadata, status }: DaemonSet): boolean {
  return part.test(metadata.name ?? "") && status?.desiredNumberScheduled !== 0;
}

function isDeploymentRunning({ metadata, spec }: Deployment): boolean {
  return part.test(metadata.name ?? "") && spec?.replicas !== 0;
}

/** A few small lists; beside one that was started just now there are writes for that long. */
const lookEveryMs = 10_000;

export interface OvnkubeOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly namespaces?: readonly string[];
  readonly lookEveryMs?: number;
  readonly onError: (error: Error) => void;
  /** `found` is empty: it does not run. Told of the first look, and of every change. */
  readonly onChange: (found: readonly string[]) => void;
}

export class Ovnkube {
  readonly #options: OvnkubeOptions;
  /** Undefined: not seen yet. */
  #found: readonly string[] | undefined;

  constructor(options: OvnkubeOptions) {
    this.#options = options;
  }

  get isSeen(): boolean {
    return this.#found !== undefined;
  }

  /** It was looked for, and does not run. */
  get mayWrite(): boolean {
    return this.#found?.length === 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, lookEveryMs: everyMs = lookEveryMs } = this.#options;
    do await this.look(signal);
    // Until it was looked for nobody may write: that is not put off.
    while (await sleep(clock, this.isSeen ? everyMs : Math.min(everyMs, lookEveryMs), signal));
  }

  async look(signal: AbortSignal): Promise<void> {
    const { client, namespaces = ovnkubeNamespaces, onError, onChange } = this.#options;
    try {
      const found = await findOvnkube(client, namespaces, signal);
      if (found.join(" ") === this.#found?.join(" ")) return;
      this.#found = found;
      onChange(found);
    } catch (error) {
      // Where it was looked once, that stands: the API server may be away, and then nobody starts anything either.
      if (!signal.aborted) onError(error as Error);
    }
  }
}
