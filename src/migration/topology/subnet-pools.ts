// The NodeSlicePools that cut the cluster's subnets: which node has which subnet. The status of a pool is the arbiter:
// one object, in which a block has one node at the most (docs/decisions/0013).
import { networkAnnotation } from "../../api/holds/hold-marks.ts";
import { OptionalInformer } from "../../cluster/optional-informer.ts";
import { nodeSlicePools, type StoredSlicePool } from "../../cluster/resources.ts";
import { prefixOf } from "../../cluster/slice-object.ts";
import type { Clock } from "../../kube/clock.ts";
import { type DeepReadonly, picked } from "../../kube/meta.ts";
import type { Runnable } from "../../kube/process/stages.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Assigned, SubnetPool } from "./assignments.ts";
import type { ClusterNetwork } from "./cluster-network.ts";

export interface SubnetPoolsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  readonly systemNamespace: string;
  readonly network: ClusterNetwork;
  /** network_name of the definition that cuts them; empty: it has none. */
  readonly networkName: string;
}

export class SubnetPools {
  readonly #options: SubnetPoolsOptions;
  readonly #pools: OptionalInformer<StoredSlicePool>;

  constructor(options: SubnetPoolsOptions) {
    this.#options = options;
    const { client, clock, onError } = options;
    const transform = (pool: StoredSlicePool) => this.#trimmed(pool);
    this.#pools = new OptionalInformer({ client, clock, onError, resource: nodeSlicePools, transform });
  }

  get follow(): Runnable {
    return this.#pools.follow;
  }

  handle(changed: () => void): () => void {
    return this.#pools.handle(({ object }) => {
      if (this.#isOurs(object)) changed();
    });
  }

  /** Undefined: they have not been listed yet. */
  list(): readonly SubnetPool[] | undefined {
    return this.#pools
      .list()
      ?.filter((pool) => this.#isOurs(pool))
      .map(readPool);
  }

  #isOurs({ metadata, spec }: DeepReadonly<StoredSlicePool>): boolean {
    const { systemNamespace, network, networkName } = this.#options;
    if (metadata.namespace !== systemNamespace) return false;
    // One without the annotation is whereabouts': of which network nobody knows.
    if (metadata.annotations?.[networkAnnotation] !== networkName) return false;
    return network.subnets.some(({ prefix }) => `${prefix}` === spec.range);
  }

  /** Pools of other networks may have thousands of entries each. */
  #trimmed(pool: StoredSlicePool): StoredSlicePool {
    const { metadata, spec } = pool;
    return this.#isOurs(pool) ? pool : { ...picked(pool, "apiVersion", "kind"), metadata, spec };
  }
}

function readPool({ spec, status }: DeepReadonly<StoredSlicePool>): SubnetPool {
  const assigned = (status?.allocations ?? []).flatMap(({ nodeName: node, sliceRange }): Assigned[] => {
    const block = node === "" ? undefined : prefixOf(sliceRange);
    return block === undefined ? [] : [{ node, block }];
  });
  return { range: prefixOf(spec.range)!, assigned };
}
