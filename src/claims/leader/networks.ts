// Networks as claims see them: which let addresses stay, who gives the addresses, where ours are recorded. A definition
// is read once per version. Promised: definitions are parsed on demand only, so not at all with the gate off.
import { parseDomain } from "../../api/pools/domain.ts";
import { poolNamesToRead } from "../../api/pools/pool-name.ts";
import type { DefinitionInformer } from "../../cluster/definition-informer.ts";
import type { NetworkAttachmentDefinition } from "../../cluster/resources.ts";
import { type Trusted, trustedNamespaces } from "../../cluster/trusted-namespaces.ts";
import { type Definition, readDefinitions } from "../../cni/config/definitions.ts";
import { type Persistence, readPersistence } from "../../cni/config/persistence.ts";
import type { IpamRange } from "../../cni/config/range.ts";
import type { Hold } from "../../ipam/ledger.ts";
import type { DeepReadonly } from "../../kube/meta.ts";
import { type Address, compare } from "../../net/address.ts";
import { contains } from "../../net/prefix.ts";

type StoredDefinition = DeepReadonly<NetworkAttachmentDefinition>;

export interface NetworkRange {
  readonly definition: Definition;
  readonly range: IpamRange;
}

interface Network {
  readonly namespace: string;
  readonly isOurs: boolean;
  readonly ranges: readonly NetworkRange[];
}

export class ClaimNetworks {
  readonly #definitions: DefinitionInformer;
  readonly #systemNamespace: string;
  readonly #trusted: Trusted;
  readonly #attachesOvn: boolean;
  /** By the name in the CNI configuration; undefined: a definition has changed since. */
  #networks: ReadonlyMap<string, readonly Network[]> | undefined;

  constructor(
    definitions: DefinitionInformer,
    systemNamespace: string,
    trusted: Trusted = trustedNamespaces(systemNamespace),
    attachesOvn = false,
  ) {
    this.#definitions = definitions;
    this.#systemNamespace = systemNamespace;
    this.#trusted = trusted ?? trustedNamespaces(systemNamespace);
    this.#attachesOvn = attachesOvn;
  }

  changed(): void {
    this.#networks = undefined;
  }

  /** The name in its CNI configuration; empty: it cannot be read. */
  nameIn(object: StoredDefinition): string {
    return readPersistence(object).network;
  }

  definitionOf(key: string): Persistence | "missing" | "unknown" {
    if (!this.#definitions.isKnown) return "unknown";
    const object = this.#definitions.cache.get(key);
    return object === undefined ? "missing" : readPersistence(object);
  }

  /** The one whose role is primary; of several, the first by name that allows persistence. */
  primaryOf(namespace: string): Persistence | undefined {
    const all = this.#definitions.cache
      .byIndex("namespace", namespace)
      .map((object) => ({ name: object.metadata.name ?? "", persistence: readPersistence(object) }))
      .filter(({ persistence }) => persistence.isPrimary)
      .toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name))
      .map(({ persistence }) => persistence);
    return all.find(({ isAllowed }) => isAllowed) ?? all[0];
  }

  /** Who gives a network's addresses to claims of the namespace: we, where one of the nearest definitions is ours. */
  giverOf(network: string, namespace: string): "holdfast" | "other" | "unknown" {
    const meant = this.#nearest(network, namespace);
    if (meant.length === 0) return "unknown";
    return meant.some(({ isOurs }) => isOurs) ? "holdfast" : "other";
  }

  /** The range that has the address; undefined: none has it, or no definition tells. */
  rangeOf(network: string, namespace: string, address: Address): NetworkRange | undefined {
    return this.rangesOf(network, namespace).find(({ range }) => isWithin(range, address));
  }

  /**
   * Those that a hold may be of by what it says itself, where its claim is gone. Empty: no definition tells. Whose
   * addresses a pool shares is the leader's word, whatever `enable_overlapping_ranges` a definition asks for.
   */
  networksOf({ domain, address }: Hold, namespace: string): readonly string[] {
    const parts = parseDomain(domain);
    const found = [...this.#known()].filter(([, definitions]) =>
      definitions
        .flatMap(({ ranges }) => ranges)
        .some(({ definition: { config, poolNamespace }, range }) => {
          if (poolNamespace !== namespace || !isWithin(range, address)) return false;
          if (parts.scope === "network") return config.networkName === parts.network;
          const identity = { range: range.prefix, network: config.networkName, node: "" };
          return parts.scope === "pool" && poolNamesToRead(identity, config.poolNaming).includes(parts.name);
        }),
    );
    return found.map(([network]) => network);
  }

  /** The prefix length around the address, handed out there or not; undefined: no definition has such a network. */
  lengthAround(network: string, namespace: string, address: Address): number | undefined {
    return this.rangesOf(network, namespace).find(({ range }) => contains(range.prefix, address))?.range.prefix.length;
  }

  /** The longest of the nearest definitions: no address returns sooner than any of them wants. Undefined: none says. */
  cooldownOf(networks: readonly string[], namespace: string): number | undefined {
    const all = networks
      .flatMap((network) => this.#nearest(network, namespace))
      .flatMap(({ ranges }) => ranges.flatMap(({ definition }) => definition.config.cooldownMs ?? []));
    return all.length === 0 ? undefined : Math.max(...all);
  }

  /** Those of the nearest definitions first. */
  rangesOf(network: string, namespace: string): readonly NetworkRange[] {
    const distance = (each: Network) => distanceOf(each.namespace, namespace, this.#trusted);
    const known = this.#known().get(network) ?? [];
    return known.toSorted((a, b) => distance(a) - distance(b)).flatMap(({ ranges }) => ranges);
  }

  #nearest(network: string, namespace: string): readonly Network[] {
    return nearest(this.#known().get(network) ?? [], (each) => distanceOf(each.namespace, namespace, this.#trusted));
  }

  #known(): ReadonlyMap<string, readonly Network[]> {
    this.#networks ??= networksOf(this.#definitions.list() ?? [], this.#systemNamespace, this.#attachesOvn);
    return this.#networks;
  }
}

function networksOf(
  objects: readonly StoredDefinition[],
  systemNamespace: string,
  attachesOvn: boolean,
): ReadonlyMap<string, readonly Network[]> {
  const all = objects.map((object) => {
    const { network, isOurs: isRead, mayBeOvnKubernetes } = readPersistence(object);
    const isOurs = isRead && (attachesOvn || mayBeOvnKubernetes !== true);
    const [definition] = isOurs ? readDefinitions([object], systemNamespace).readable : [];
    const ranges = definition?.config.ranges.map((range) => ({ definition, range })) ?? [];
    return { network, namespace: object.metadata.namespace ?? "", isOurs, ranges };
  });
  return Map.groupBy(
    all.filter(({ network }) => network !== ""),
    ({ network }) => network,
  );
}

function isWithin({ prefix, start, end }: IpamRange, address: Address): boolean {
  if (!contains(prefix, address)) return false;
  return (start === undefined || compare(address, start) >= 0) && (end === undefined || compare(address, end) <= 0);
}

/**
 * Anybody may define a network of this name. The nearest definitions count: another tenant's must not change where, how
 * long or whether a claim's address is held. 0: the claim's own namespace; 1: an administrator's; 2: another tenant's.
 */
export function distanceOf(definition: string, claim: string, trusted: Trusted): number {
  if (definition === claim) return 0;
  return trusted.has(definition) ? 1 : 2;
}

export function nearest<T>(all: readonly T[], distance: (each: T) => number): readonly T[] {
  const least = Math.min(...all.map(distance));
  return all.filter((each) => distance(each) === least);
}
