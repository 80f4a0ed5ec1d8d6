// The facts of VM networks, from the caches: pools in their order, and which of them give addresses.
import { adoptedAnnotation } from "../../api/holds/hold-marks.ts";
import type { DefinitionInformer } from "../../cluster/definition-informer.ts";
import type { NetworkFacts, NetworkPool, NicHold } from "../plan/nic-hold.ts";
import { mayUse } from "../rules/examine-nic.ts";
import { examinePool, type Trusted } from "../rules/examine-pool.ts";
import { describeIssue, describePool, type Issue } from "../rules/issue.ts";
import type { NetworkRef } from "../rules/network-ref.ts";
import { familyOf, type PoolPlan } from "../rules/pool-plan.ts";
import { leaseSecondsDefault } from "../rules/read-options.ts";
import type { Pool, VmnetCaches } from "./caches.ts";

export class Networks {
  readonly #caches: VmnetCaches;
  readonly #definitions: DefinitionInformer;
  readonly #trusted: Trusted;

  constructor(caches: VmnetCaches, definitions: DefinitionInformer, trusted: Trusted) {
    this.#caches = caches;
    this.#definitions = definitions;
    this.#trusted = trusted;
  }

  isManaged(network: string): boolean {
    return this.#caches.pools.cache.keysBy("network", network).length > 0;
  }

  /** Undefined: definitions have not been listed, or the cluster has no such kind. */
  isDefined(network: string): boolean | undefined {
    return this.#definitions.isListed ? this.#definitions.cache.get(network) !== undefined : undefined;
  }

  facts(network: string): NetworkFacts {
    const pools: NetworkPool[] = [];
    const faults: string[] = [];
    for (const pool of this.#caches.poolsOf(network)) {
      const { plan } = this.#caches.pool(pool);
      const fault = this.faultOf(pool);
      if (fault !== undefined) faults.push(fault);
      else if (plan !== undefined) pools.push({ plan, isAdopted: isAdopted(pool), isDeleting: isDeleting(pool) });
    }
    return { isDefined: this.isDefined(network), pools, faults };
  }

  /** In a sentence what keeps it from being used; undefined: nothing. A missing definition is said elsewhere. */
  faultOf(pool: Pool): string | undefined {
    const { plan, issues } = this.#caches.pool(pool);
    const all = plan === undefined ? issues : [...issues, ...this.#examine(plan)];
    const errors = all.filter(({ weight }) => weight === "error");
    if (errors.length === 0) return undefined;
    return errors.map((issue) => describeIssue(describePool(pool.metadata), issue)).join(" ");
  }

  /** Undefined: VMs of this namespace may use the network. */
  foreignFault(namespace: string, network: NetworkRef): string | undefined {
    if (mayUse(namespace, network.namespace, this.#trusted)) return undefined;
    return `${network.key} is a network of another namespace, which VMs of ${namespace} may not use: use one of ${namespace}, or one in a namespace that administrators share.`;
  }

  #examine(plan: PoolPlan): readonly Issue[] {
    const others = this.#caches.poolsOf(plan.network.key).flatMap((each) => this.#caches.pool(each).plan ?? []);
    const config = this.#definitions.cache.get(plan.network.key)?.spec?.config;
    const definition = config === undefined ? "unknown" : { config };
    return examinePool({ plan, definition, others, clusterRanges: [], trusted: this.#trusted });
  }

  /** Released addresses cool for the lease time of their pool: until then a guest may use them. */
  cooldownMsOf({ note, address }: NicHold): number {
    const pool = this.#caches.pools.cache.get(note?.pool ?? "");
    const plan = pool && this.#caches.pool(pool).plan;
    const seconds = (plan && familyOf(plan, address)?.leaseSeconds) ?? leaseSecondsDefault;
    return seconds * 1000;
  }
}

export function isAdopted({ metadata }: Pool): boolean {
  return (metadata.annotations?.[adoptedAnnotation] ?? "") !== "";
}

export function isDeleting({ metadata }: Pool): boolean {
  return metadata.deletionTimestamp !== undefined;
}
