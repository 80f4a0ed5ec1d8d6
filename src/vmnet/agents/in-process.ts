// The agent that runs in the controller's own process (`holdfast up --dhcp`): what the status of a pool says of it, and
// the labels by which its network names its pool. There is no Deployment and no pod. Promised: a pool is ready only
// where the agent itself says that it answers on the network's interface.
import { agentReadyCondition, inProcessReason } from "../../api/vmnet/marks.ts";
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import { networkAttachmentDefinitions, type StoredManagedPool } from "../../cluster/resources.ts";
import { trustedNamespaces } from "../../cluster/trusted-namespaces.ts";
import { sleep } from "../../kube/clock.ts";
import { type DeepReadonly, keyOf, type ObjectKey, parseKey } from "../../kube/meta.ts";
import { unless } from "../../kube/unless.ts";
import type { Trusted } from "../rules/examine-pool.ts";
import { poolNameOf } from "./deployment.ts";
import { networkKeyOf, obstacleOf } from "./judge.ts";
import { labelPatch } from "./network-labels.ts";
import type { AgentsWord } from "./reconciler.ts";

type Pool = DeepReadonly<StoredManagedPool>;

/** What is known of the agent in this process. */
export interface AgentInProcess {
  /** In sentences: `holdfast up on NODE`. */
  readonly name: string;
  /** namespace/name of a network -> the interface on which it is served. */
  readonly interfaces: ReadonlyMap<ObjectKey, string>;
  /** It answers there now. */
  readonly serves: (network: ObjectKey) => boolean;
}

export interface InProcessOptions
  extends AgentInProcess, Pick<ReconcilerOptions, "client" | "clock" | "definitions" | "systemNamespace"> {
  readonly trusted?: Trusted;
  /** Of a network; undefined: not listed yet. */
  readonly poolsOf: (network: ObjectKey) => readonly Pool[] | undefined;
}

/** The interface of a network comes and goes: noticed within a second. */
const lookMs = 1000;

export class InProcessAgent {
  readonly #options: InProcessOptions;
  readonly #trusted: Trusted;

  constructor(options: InProcessOptions) {
    this.#options = options;
    this.#trusted = options.trusted ?? trustedNamespaces(options.systemNamespace);
  }

  follow(wake: (pool: ObjectKey) => void, signal: AbortSignal): void {
    void this.#watch(wake, signal);
  }

  /** Not of pools that are going. */
  async tend(pool: Pool, signal: AbortSignal): Promise<void> {
    await this.#label(networkKeyOf(pool), undefined, signal);
  }

  async finish(pool: Pool, signal: AbortSignal): Promise<boolean> {
    await this.#label(networkKeyOf(pool), keyOf(pool), signal);
    return true;
  }

  say(pool: Pool): AgentsWord {
    const condition = { type: agentReadyCondition, ...this.#verdictOn(pool) };
    return { conditions: [condition], agentPodRef: "none" };
  }

  #verdictOn(pool: Pool) {
    const { name, interfaces, serves } = this.#options;
    const network = networkKeyOf(pool);
    const at = interfaces.get(network);
    const no = (reason: string, message: string) => ({ status: false, reason, message });
    if (pool.spec.paused === true)
      return no("Paused", "The pool is paused: nothing is served. Set spec.paused to false.");
    const obstacle = this.#obstacleOf(pool);
    if (obstacle !== undefined) return no(obstacle.reason, obstacle.message);
    if (at === undefined)
      return no("NotServed", `${name} serves no DHCP on ${network}: start it with --dhcp ${network}=INTERFACE.`);
    if (!serves(network))
      return no("NotReady", `${name} does not answer on interface ${at} yet: is it there, and up? Its log says more.`);
    return { status: true, reason: inProcessReason, message: `${name} answers on interface ${at}.` };
  }

  #obstacleOf(pool: Pool) {
    const { definitions } = this.#options;
    const network = networkKeyOf(pool);
    return obstacleOf(pool, definitions.cache.get(network), this.#poolsOn(network), this.#trusted);
  }

  #poolsOn(network: ObjectKey): readonly Pool[] {
    return this.#options.poolsOf(network) ?? [];
  }

  async #watch(wake: (pool: ObjectKey) => void, signal: AbortSignal): Promise<void> {
    const { clock, interfaces, serves } = this.#options;
    const seen = new Map<ObjectKey, boolean>();
    do {
      for (const network of interfaces.keys()) {
        const is = serves(network);
        if (seen.get(network) === is) continue;
        seen.set(network, is);
        for (const pool of this.#poolsOn(network)) wake(keyOf(pool));
      }
    } while (await sleep(clock, lookMs, signal));
  }

  async #label(network: ObjectKey, but: ObjectKey | undefined, signal: AbortSignal): Promise<void> {
    const { client, definitions } = this.#options;
    const definition = definitions.cache.get(network);
    if (definition === undefined) return;
    const pools = this.#poolsOn(network).filter((each) => keyOf(each) !== but && this.#obstacleOf(each) === undefined);
    const body = labelPatch(definition, pools.map(poolNameOf));
    if (body === undefined) return;
    const patch = { type: "merge", body } as const;
    // Somebody was faster: the pool is looked at again.
    await unless(
      ["conflict", "not-found"],
      client.patch(networkAttachmentDefinitions, parseKey(network), patch, { signal }),
    );
  }
}
