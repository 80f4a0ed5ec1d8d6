// The zone as it is now: Nodes and the DNS service as they are followed, and what the operator said. Read once until
// one of them changes.
import type { Node } from "../../cluster/resources.ts";
import type { Informer } from "../../kube/cache/informer.ts";
import type { OvnFeatures } from "../../ovn/zone/features.ts";
import type { Zone } from "../../ovn/zone/zone.ts";
import type { ClusterNetwork } from "./cluster-network.ts";
import type { DnsService } from "./dns-service.ts";
import { factsText, type NodeFacts, readNodeFacts } from "./node-facts.ts";
import { type ZoneOfNodes, zoneOfNodes } from "./zone-of-nodes.ts";

export interface ZoneSourceOptions {
  readonly nodes: Informer<Node>;
  readonly dns: DnsService;
  readonly network: ClusterNetwork;
  /** The zone's only node, where zones are interconnected. */
  readonly localNode?: string | undefined;
}

export class ZoneSource {
  readonly #options: ZoneSourceOptions;
  #facts: readonly NodeFacts[] | undefined;
  #found: { readonly features: string; readonly zone: ZoneOfNodes } | undefined;

  constructor(options: ZoneSourceOptions) {
    this.#options = options;
  }

  /** Told after a change. The returned function ends it. */
  follow(changed: () => void): () => void {
    const { nodes, dns } = this.#options;
    const ends = [
      nodes.handle((event) => {
        if (event.type === "update" && factsText(event.previous) === factsText(event.object)) return;
        this.#facts = undefined;
        this.#found = undefined;
        changed();
      }),
      dns.informer.handle(() => {
        this.#found = undefined;
        changed();
      }),
    ];
    return () => ends.forEach((end) => end());
  }

  get facts(): readonly NodeFacts[] {
    this.#facts ??= [...this.#options.nodes.cache.list()].map(readNodeFacts);
    return this.#facts;
  }

  of(features: OvnFeatures): ZoneOfNodes {
    const text = JSON.stringify(features);
    if (this.#found?.features === text) return this.#found.zone;
    const { network, dns, localNode } = this.#options;
    const zone = zoneOfNodes(this.facts, { network, dnsServers: dns.addresses, features, localNode });
    this.#found = { features: text, zone };
    return zone;
  }

  readonly zone = (features: OvnFeatures): Zone => this.of(features).zone;
}
