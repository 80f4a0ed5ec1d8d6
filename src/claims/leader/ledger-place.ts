// Where an address of a claim stands in the ledger: pool, domain, part. The same as a daemon finds for an ADD. Pure.
import { formatDomain } from "../../api/pools/domain.ts";
import { markedDomain, settledDomain } from "../../api/pools/pool-domain.ts";
import { type PoolIdentity, poolName, poolNamesToRead, type PoolNaming } from "../../api/pools/pool-name.ts";
import type { StoredPool } from "../../cluster/resources.ts";
import type { SlicedRange, SlicedRanges } from "../../cluster/sliced-ranges.ts";
import { stateName } from "../../cluster/state.ts";
import { administers, type Trusted, trustedNamespaces } from "../../cluster/trusted-namespaces.ts";
import { consentFault, placeFault } from "../../cni/by-number.ts";
import { type Definition, type DefinitionObject, readDefinitions } from "../../cni/config/definitions.ts";
import { partsOf } from "../../cni/config/overlap-index.ts";
import { type Persistence, readPersistence } from "../../cni/config/persistence.ts";
import { poolDefinitionOf } from "../../cni/config/pool-definition.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { parseKey } from "../../kube/meta.ts";
import { type Address, equal } from "../../net/address.ts";
import { contains, type Prefix } from "../../net/prefix.ts";
import { distanceOf, nearest } from "./networks.ts";

export interface LedgerPlace {
  /** namespace/name of the definition. */
  readonly definition: string;
  /** Of the objects. */
  readonly namespace: string;
  readonly domain: Domain;
  readonly identity: PoolIdentity;
  readonly naming: PoolNaming;
  readonly l3: boolean;
  /** namespace/name of the pool; it need not be there yet. */
  readonly pool: string;
  /** Where ranges overlap: which of the claim's addresses. */
  readonly part: number;
  /** The length of the network, for `status.ips`. */
  readonly length: number;
}

export type Placing =
  | { readonly kind: "place"; readonly place: LedgerPlace }
  /** Another IPAM gives the addresses of this network: no hold of ours is needed. */
  | { readonly kind: "theirs" }
  /** A sentence why it has none. */
  | { readonly kind: "nowhere"; readonly why: string };

/** Who asks for an address by number. */
export interface Asked {
  /** A claim without an owner: whoever may make claims may write its status, so the definition has to consent. */
  readonly isByHand: boolean;
}

export interface LedgerPlacesInput {
  readonly systemNamespace: string;
  /** Default: the system namespace and `default`. */
  readonly trusted?: Trusted;
  readonly definitions: Iterable<DefinitionObject>;
  /** Key: namespace/name. */
  readonly pools: ReadonlyMap<string, StoredPool>;
  /** Undefined: which ranges nodes hand out by themselves is not known, and nothing is placed in one. */
  readonly sliced: SlicedRanges | undefined;
}

export class LedgerPlaces {
  readonly #input: LedgerPlacesInput;
  /** Key: namespace/name of the definition. */
  readonly #readable: ReadonlyMap<string, Definition>;
  readonly #unreadable: ReadonlyMap<string, string>;
  /** Key: namespace/name of the definition. */
  readonly persistence: ReadonlyMap<string, Persistence>;

  constructor(input: LedgerPlacesInput) {
    const objects = [...input.definitions];
    const { readable, unreadable } = readDefinitions(objects, input.systemNamespace);
    this.#input = input;
    this.#readable = new Map(readable.map((each) => [each.key, each]));
    this.#unreadable = new Map(unreadable.map(({ definition, why }) => [definition, why]));
    this.persistence = new Map(
      objects.map((object) => [`${object.metadata.namespace}/${object.metadata.name}`, readPersistence(object)]),
    );
  }

  /** The place of an address that was asked for by number and is in no range: no pool. Undefined: another IPAM's. */
  looseIn(key: string): Pick<LedgerPlace, "namespace" | "domain"> | undefined {
    const definition = this.#readable.get(key);
    if (definition === undefined) return undefined;
    const domain = formatDomain({ scope: "network", network: definition.config.networkName });
    return { namespace: definition.poolNamespace, domain };
  }

  /** The definitions that a claim of the namespace means by this name. */
  ofNetwork(network: string, namespace: string): readonly string[] {
    const all = [...this.persistence].filter(([, each]) => each.network === network).map(([key]) => key);
    const { systemNamespace, trusted = trustedNamespaces(systemNamespace) } = this.#input;
    return nearest(all, (key) => distanceOf(parseKey(key).namespace ?? "", namespace, trusted));
  }

  /** namespace/name of the definition whose role is primary there. */
  primaryIn(namespace: string): string | undefined {
    return [...this.persistence].find(([key, { isPrimary }]) => isPrimary && key.startsWith(`${namespace}/`))?.[0];
  }

  giverOf(network: string, namespace: string): "holdfast" | "other" | "unknown" {
    const found = this.ofNetwork(network, namespace).map((key) => this.persistence.get(key)!);
    if (found.length === 0) return "unknown";
    return found.some(({ isOurs }) => isOurs) ? "holdfast" : "other";
  }

  /** `definitions`: several only where the NIC is not known. `asked`: nothing holds it; bound as if asked by number. */
  of(definitions: readonly string[], address: Address, asked?: Asked): Placing {
    const placings = definitions.map((key) => this.#in(key, address, asked));
    const places = placings.flatMap((each) => (each.kind === "place" ? [each] : []));
    const different = new Map(places.map((each) => [`${each.place.namespace} ${each.place.domain}`, each]));
    const [only, another] = different.values();
    if (another !== undefined) {
      const both = `${only!.place.definition} and ${another.place.definition}`;
      return nowhere(`${address} is in ranges of ${both}, which are different domains: correct one of the ranges`);
    }
    return (
      only ?? placings[0] ?? nowhere(`no network attachment definition has the network of ${address}: make it first`)
    );
  }

  #in(key: string, address: Address, asked: Asked | undefined): Placing {
    const persistence = this.persistence.get(key);
    if (persistence === undefined) return nowhere(`there is no NetworkAttachmentDefinition ${key}: make it first`);
    const definition = this.#readable.get(key);
    if (definition === undefined) {
      const why = this.#unreadable.get(key);
      if (why !== undefined) return nowhere(`NetworkAttachmentDefinition ${key} cannot be read (${why})`);
      return { kind: "theirs" };
    }
    const unasked = asked?.isByHand === true ? consentFault(definition.config) : undefined;
    const fault = asked && (unasked ?? placeFault(definition.config, address));
    if (fault !== undefined) return nowhere(`${address} cannot be had of ${key}: ${fault}`);
    const { ranges } = definition.config;
    const index = ranges.findIndex(({ prefix }) => contains(prefix, address));
    if (index < 0)
      return nowhere(`${address} is in no range of ${key}: widen its range, or give the VM another address`);
    const { gateway } = poolDefinitionOf(definition.config, ranges[index]!);
    if (gateway !== undefined && equal(gateway, address)) {
      return nowhere(`${address} is the gateway of ${key}: no VM can have it; take it out of the status`);
    }
    return this.#place(definition, index, address);
  }

  #place({ key, config, poolNamespace: namespace }: Definition, index: number, address: Address): Placing {
    const { prefix, l3 } = config.ranges[index]!;
    if (this.#input.sliced === undefined) {
      return nowhere(
        `ConfigMap ${stateName} does not say which ranges are cut into slices: look whether a controller leads`,
      );
    }
    const cut = this.#cut(namespace, config.networkName, prefix);
    if (cut !== undefined && (cut.floating === undefined || !contains(cut.floating, address))) {
      return nowhere(
        `${address} is in the part of ${prefix} that nodes hand out by themselves (holdfast slices): only an address of its ` +
          `floating part${cut.floating === undefined ? ", which it does not have," : ` ${cut.floating}`} can stay with a VM`,
      );
    }
    const range = config.overlappingRanges ? (cut?.floating ?? prefix) : prefix;
    const identity = { range, network: config.networkName, node: "" };
    const name = this.#poolName(namespace, identity, config.poolNaming);
    const pool = { namespace, name };
    const { systemNamespace, trusted = trustedNamespaces(systemNamespace) } = this.#input;
    const mayStandAlone = administers(parseKey(key).namespace ?? "", namespace, trusted);
    const rule = { network: config.networkName, protectsOverlaps: config.overlappingRanges, mayStandAlone, pool };
    const object = this.#input.pools.get(`${namespace}/${name}`);
    const domain = settledDomain(rule, object && markedDomain(object));
    if (domain === undefined) {
      return nowhere(
        `IPPool ${namespace}/${name} is not handed out as ${key} asks: set enable_overlapping_ranges alike`,
      );
    }
    const part = partsOf(config.ranges.map((each) => each.prefix))[index]!;
    const naming = config.poolNaming;
    const place = { definition: key, namespace, domain, identity, naming, l3, pool: `${namespace}/${name}`, part };
    return { kind: "place", place: { ...place, length: prefix.length } };
  }

  /** Under whichever of its names it is there, or is to be made. */
  #poolName(namespace: string, identity: PoolIdentity, naming: PoolNaming): string {
    const names = poolNamesToRead(identity, naming);
    return names.find((name) => this.#input.pools.has(`${namespace}/${name}`)) ?? poolName(identity, naming);
  }

  #cut(namespace: string, network: string, prefix: Prefix): SlicedRange | undefined {
    return this.#input.sliced?.ranges.find(
      (each) => each.namespace === namespace && each.network === network && String(each.range) === String(prefix),
    );
  }
}

function nowhere(why: string): Placing {
  return { kind: "nowhere", why };
}
