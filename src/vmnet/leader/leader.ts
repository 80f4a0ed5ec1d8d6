// The leader's work on managed DHCP, put together: caches on every replica, and the work under the lease. Where the
// cluster has not the kinds, it follows nothing and does nothing.
import type { Runnable } from "../../kube/process/stages.ts";
import type { FollowedNetworks } from "../webhook/view.ts";
import { VmnetCaches } from "./caches.ts";
import type { VmnetOptions } from "./options.ts";
import { VmnetTerm } from "./term.ts";

export class VmnetLeader {
  readonly #options: VmnetOptions;
  readonly #caches: VmnetCaches;

  constructor(options: VmnetOptions) {
    this.#options = options;
    const { client, clock, log, systemNamespace, retryMs } = options;
    const onError = (error: Error) => log.warn("following managed DHCP", { error });
    const following = { client, clock, onError, systemNamespace, ...(retryMs !== undefined && { retryMs }) };
    this.#caches = new VmnetCaches(following);
  }

  /** On every replica. */
  get informers() {
    return [this.#caches.holds] as const;
  }

  /** On every replica; kinds that may come later. */
  get follows(): readonly Runnable[] {
    return this.#caches.optional.map(({ follow }) => follow);
  }

  /** What is followed of a network, as last seen: for webhooks, which ask the server before they refuse by it. */
  readonly followed: FollowedNetworks = {
    poolsOf: (network) => (this.#caches.pools.isListed ? this.#caches.poolsOf(network) : undefined),
    configsOf: (network) => {
      const { isListed, cache } = this.#caches.configs;
      return isListed ? cache.byIndex("network", network) : undefined;
    },
  };

  /** Under the lease. */
  readonly lead: Runnable = {
    name: "vmnet",
    run: (signal) => new VmnetTerm(this.#options, this.#caches).run(signal),
  };
}
