// What is followed for live migration: launcher pods, trimmed to what is read. Nodes are followed elsewhere and given.
import { launcherLabelName, launcherValue } from "../../api/claims/kubevirt.ts";
import { type Node, type Pod, pods } from "../../cluster/resources.ts";
import { Informer } from "../../kube/cache/informer.ts";
import type { Clock } from "../../kube/clock.ts";
import { type DeepReadonly, type ObjectKey, parseKey, picked } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { type Launcher, nameStem, readAnnotations, readLabels, readLauncher } from "../objects/launcher.ts";
import { nodeSubnetsAnnotation, type NodeSubnets, readNodeSubnets } from "../objects/node-subnets.ts";
import { groupByVm } from "../plan/vm-names.ts";

export interface CacheOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly nodes: Informer<Node>;
  readonly onError: (error: Error) => void;
}

export class MigrationCaches {
  readonly pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  #subnets: NodeSubnets | undefined;
  /** Readings of frozen objects; null: no launcher. */
  readonly #launchers = new WeakMap<DeepReadonly<Pod>, Launcher | null>();

  constructor({ client, clock, nodes, onError }: CacheOptions) {
    this.#nodes = nodes;
    this.pods = new Informer<Pod>({
      client,
      clock,
      onError,
      resource: pods,
      scope: { labelSelector: `${launcherLabelName}=${launcherValue}` },
      transform: trim,
      indexes: {
        node: (pod) => [pod.spec?.nodeName ?? ""],
        stem: (pod) => this.#of(pod, (each) => [stemOf(each)]),
        address: (pod) => this.#of(pod, ({ network }) => network?.addresses.map(({ address }) => `${address}`) ?? []),
      },
    });
  }

  launcher(pod: DeepReadonly<Pod>): Launcher | undefined {
    let known = this.#launchers.get(pod);
    if (known === undefined) {
      known = readLauncher(pod) ?? null;
      this.#launchers.set(pod, known);
    }
    return known ?? undefined;
  }

  podOf({ namespace, name }: Launcher): DeepReadonly<Pod> | undefined {
    return this.pods.cache.get(`${namespace}/${name}`);
  }

  /** Of the VM of this key, namespace/name. */
  launchersOf(key: ObjectKey): readonly Launcher[] {
    const { namespace = "", name } = parseKey(key);
    return this.#group(`${namespace}/${nameStem(name)}`).get(name) ?? [];
  }

  /** Every VM with a pod, as it is now. */
  *vms(): Iterable<ObjectKey> {
    const stems = new Set<string>();
    for (const pod of this.pods.cache.list())
      for (const stem of this.#of(pod, (each) => [stemOf(each)])) stems.add(stem);
    for (const stem of stems) yield* this.#keys(stem);
  }

  /** VMs to be looked at when this pod has changed or gone: its own, those that its name may be of, rivals. */
  touchedBy(pod: DeepReadonly<Pod>): ReadonlySet<ObjectKey> {
    const launcher = this.launcher(pod);
    if (launcher === undefined) return new Set();
    const keys = new Set([`${launcher.namespace}/${launcher.vm}`, ...this.#keys(stemOf(launcher))]);
    for (const { address } of launcher.network?.addresses ?? [])
      for (const key of this.holdersOf(`${address}`).keys()) keys.add(key);
    return keys;
  }

  /** VMs of which a pod says that it has this address, with all their pods. */
  holdersOf(address: string): ReadonlyMap<ObjectKey, readonly Launcher[]> {
    const named = this.pods.cache.byIndex("address", address).flatMap((pod) => this.launcher(pod) ?? []);
    const stems = new Set(named.map(stemOf));
    const keys = [...stems].flatMap((stem) => [...this.#keys(stem)]);
    const all = keys.map((key) => [key, this.launchersOf(key)] as const);
    return new Map(all.filter(([, pods_]) => pods_.some((each) => named.includes(each))));
  }

  /** Read once until a node changes: there may be thousands. */
  get nodeSubnets(): NodeSubnets {
    this.#subnets ??= this.#readSubnets();
    return this.#subnets;
  }

  /** Told when any node has other subnets, was added or has gone. The returned function ends it. */
  onSubnets(changed: () => void): () => void {
    const textOf = ({ metadata }: DeepReadonly<Node>) => metadata.annotations?.[nodeSubnetsAnnotation];
    return this.#nodes.handle((event) => {
      if (event.type === "update" && textOf(event.previous) === textOf(event.object)) return;
      this.#subnets = undefined;
      changed();
    });
  }

  #readSubnets(): NodeSubnets {
    const found = new Map<string, ReturnType<typeof readNodeSubnets>>();
    for (const { metadata } of this.#nodes.cache.list()) {
      const subnets = readNodeSubnets(metadata.annotations?.[nodeSubnetsAnnotation]);
      if (subnets.length > 0) found.set(metadata.name ?? "", subnets);
    }
    return found;
  }

  #group(stem: string): ReadonlyMap<string, readonly Launcher[]> {
    return groupByVm(this.pods.cache.byIndex("stem", stem).flatMap((pod) => this.launcher(pod) ?? []));
  }

  *#keys(stem: string): Iterable<ObjectKey> {
    const { namespace } = parseKey(stem);
    for (const name of this.#group(stem).keys()) yield `${namespace}/${name}`;
  }

  #of(pod: DeepReadonly<Pod>, values: (launcher: Launcher) => readonly string[]): readonly string[] {
    const launcher = this.launcher(pod);
    return launcher === undefined ? [] : values(launcher);
  }
}

function stemOf({ namespace, vm }: Launcher): string {
  return `${namespace}/${nameStem(vm)}`;
}

const keptFields = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"] as const;

function trim({ metadata, spec, status }: Pod): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...picked(metadata, ...keptFields),
      labels: picked(metadata.labels, ...readLabels),
      annotations: picked(metadata.annotations, ...readAnnotations),
    },
    spec: picked(spec, "nodeName", "hostNetwork"),
    status: picked(status, "phase"),
  };
}
