// The facts of VM networks, from the caches: pools in their order, and which of them give addresses.
import { adoptedAnnotation } from "../../api/holds/hold-marks.ts";
import type { DefinitionInformer } from "../../cluster/definition-informer.ts";
import type { NetworkFacts, NetworkPool, NicHold } from "../plan/nic-hold.ts";
import { mayUse } from "../rules/examine-nic.ts";
import { countedOn, examinePool, givingPlan, type Trusted } from "../rules/examine-pool.ts";
import { costsIpv6, describeIssue, describePool, type Issue } from "../rules/issue.ts";
import type { NetworkRef } from "../rules/network-ref.ts";
import { familyOf, type PoolPlan } from "../rules/pool-plan.ts";
import { leaseSecondsDefault } from "../rules/read-options.ts";
import type { Pool, VmnetCaches } from "./caches.ts";

/** What becomes of a pool beside the others of its network. */
interface Judgement {
  /** As addresses may be given out of it. */
  readonly plan: PoolPlan | undefined;
  readonly fault: string | undefined;
  readonly lack: string | undefined;
  /** Of what it was made. */
  readonly others: readonly Pool[];
  readonly config: string | undefined;
}

export class Networks {
  readonly #caches: VmnetCaches;
  readonly #definitions: DefinitionInformer;
  readonly #trusted: Trusted;
  /** Each network config asks for it again: with 500 reservations a judgement costs a millisecond. */
  readonly #judged = new WeakMap<Pool, Judgement>();

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
    const lacks: string[] = [];
    for (const pool of this.#caches.poolsOf(network)) {
      const { plan, fault, lack } = this.#judge(pool);
      if (fault !== undefined) faults.push(fault);
      else if (plan !== undefined) pools.push({ plan, isAdopted: isAdopted(pool), isDeleting: isDeleting(pool) });
      if (lack !== undefined) lacks.push(lack);
    }
    return { isDefined: this.isDefined(network), pools, faults, lacks };
  }

  /** In a sentence what keeps it from being used; undefined: nothing. A missing definition is said elsewhere. */
  faultOf(pool: Pool): string | undefined {
    return this.#judge(pool).fault;
  }

  /** As addresses may be given out of it; undefined: it cannot be read. */
  planOf(pool: Pool): PoolPlan | undefined {
    return this.#judge(pool).plan;
  }

  /** In a sentence why it has no IPv6 although it asks for it; undefined: it has, or does not ask. */
  lackOf(pool: Pool): string | undefined {
    return this.#judge(pool).lack;
  }

  /** Undefined: VMs of this namespace may use the network. */
  foreignFault(namespace: string, network: NetworkRef): string | undefined {
    if (mayUse(namespace, network.namespace, this.#trusted)) return undefined;
    return `${network.key} is a network of another namespace, which VMs of ${namespace} may not use: use one of ${namespace}, or one in a namespace that administrators share.`;
  }

  #judge(pool: Pool): Judgement {
    const { plan, issues } = this.#caches.pool(pool);
    const others = plan === undefined ? [] : this.#caches.poolsOf(plan.network.key);
    const config = plan && this.#definitions.cache.get(plan.network.key)?.spec?.config;
    const known = this.#judged.get(pool);
    const isSame = known?.config === config && known?.others.every((each, index) => each === others[index]) === true;
    if (known !== undefined && isSame && known.others.length === others.length) return known;
    const plans = others.flatMap((each) => this.#caches.pool(each).plan ?? []);
    const all = plan === undefined ? issues : [...issues, ...this.#examine(plan, plans, config)];
    const sentence = (of: readonly Issue[]) =>
      of.length === 0 ? undefined : of.map((issue) => describeIssue(describePool(pool.metadata), issue)).join(" ");
    const judgement = {
      plan: plan && givingPlan(plan, countedOn(plans, this.#trusted)),
      fault: sentence(all.filter(({ weight }) => weight === "error")),
      lack: sentence(all.filter(costsIpv6)),
      others,
      config,
    };
    this.#judged.set(pool, judgement);
    return judgement;
  }

  #examine(plan: PoolPlan, others: readonly PoolPlan[], config: string | undefined): readonly Issue[] {
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
