// Networks as claims see them: which let addresses stay, who gives their addresses, and where those of ours are recorded. Made from the
// definitions as they are followed; what a definition says is read once per version of it.
//
// Promised: nothing is parsed that nobody asks for, so that with the gate off definitions are not read.
import { parseDomain } from "../api/domain.ts";
import { poolNamesToRead } from "../api/pool-name.ts";
import { type Definition, readDefinitions } from "../cni/definitions.ts";
import { type Persistence, persistenceOf } from "../cni/persistence.ts";
import type { IpamRange } from "../cni/range.ts";
import type { Hold } from "../ipam/ledger.ts";
import type { DeepReadonly } from "../kube/meta.ts";
import type { FollowedDefinitions } from "../ledger/followed-definitions.ts";
import type { NetworkAttachmentDefinition } from "../ledger/resources.ts";
import { type Address, compare } from "../net/address.ts";
import { contains } from "../net/prefix.ts";

type StoredDefinition = DeepReadonly<NetworkAttachmentDefinition>;

/** A range of a network of ours. */
export interface NetworkRange {
  readonly definition: Definition;
  readonly range: IpamRange;
}

interface Network {
  readonly isOurs: boolean;
  readonly ranges: readonly NetworkRange[];
}

export class ClaimNetworks {
  readonly #definitions: FollowedDefinitions;
  readonly #systemNamespace: string;
  /** What a version of a definition says. */
  readonly #read = new WeakMap<StoredDefinition, Persistence>();
  /** By the name in the CNI configuration; undefined: a definition has changed since. */
  #networks: ReadonlyMap<string, Network> | undefined;

  constructor(definitions: FollowedDefinitions, systemNamespace: string) {
    this.#definitions = definitions;
    this.#systemNamespace = systemNamespace;
  }

  /** A definition came, went or changed. */
  changed(): void {
    this.#networks = undefined;
  }

  /** The name in its CNI configuration; empty: it cannot be read. */
  nameIn(object: StoredDefinition): string {
    return this.#persistenceOf(object).network;
  }

  definitionOf(key: string): Persistence | "missing" | "unknown" {
    if (!this.#definitions.isKnown) return "unknown";
    const object = this.#definitions.cache.get(key);
    return object === undefined ? "missing" : this.#persistenceOf(object);
  }

  /** The one whose role is primary; of several, the first by name that allows persistence. */
  primaryOf(namespace: string): Persistence | undefined {
    const all = this.#definitions.cache
      .byIndex("namespace", namespace)
      .map((object) => ({ name: object.metadata.name ?? "", persistence: this.#persistenceOf(object) }))
      .filter(({ persistence }) => persistence.isPrimary)
      .toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name))
      .map(({ persistence }) => persistence);
    return all.find(({ isAllowed }) => isAllowed) ?? all[0];
  }

  giverOf(network: string): "holdfast" | "other" | "unknown" {
    const known = this.#known().get(network);
    if (known === undefined) return "unknown";
    return known.isOurs ? "holdfast" : "other";
  }

  /** The range that has the address; undefined: none has it, or no definition tells. */
  rangeOf(network: string, address: Address): NetworkRange | undefined {
    return this.rangesOf(network).find(({ range }) => isWithin(range, address));
  }

  /** The only network of ours that hands the address out; empty: none does, or several do. */
  networkWith(address: Address): string {
    const found = [...this.#known().keys()].filter((network) => this.rangeOf(network, address) !== undefined);
    return found.length === 1 ? found[0]! : "";
  }

  /** By what a hold says itself, where its claim is gone; empty: no definition has it, or several do. */
  networkOf({ domain, address }: Hold, namespace: string): string {
    const parts = parseDomain(domain);
    const found = [...this.#known()].filter(([, { ranges }]) =>
      ranges.some(({ definition: { config, poolNamespace }, range }) => {
        if (poolNamespace !== namespace || !isWithin(range, address)) return false;
        if (parts.scope === "network") return config.overlappingRanges && config.networkName === parts.network;
        const identity = { range: range.prefix, network: config.networkName, node: "" };
        return parts.scope === "pool" && poolNamesToRead(identity, config.poolNaming).includes(parts.name);
      }),
    );
    return found.length === 1 ? found[0]![0] : "";
  }

  /** Of the network that the address is in, whether it is handed out there or not; undefined: of none that is defined. */
  lengthAround(network: string, address: Address): number | undefined {
    return this.rangesOf(network).find(({ range }) => contains(range.prefix, address))?.range.prefix.length;
  }

  /** Undefined: its definitions name none. Of several the longest: an address is not given again sooner than any of them wants. */
  cooldownOf(network: string): number | undefined {
    const all = this.rangesOf(network).flatMap(({ definition }) => definition.config.cooldownMs ?? []);
    return all.length === 0 ? undefined : Math.max(...all);
  }

  rangesOf(network: string): readonly NetworkRange[] {
    return this.#known().get(network)?.ranges ?? [];
  }

  #known(): ReadonlyMap<string, Network> {
    this.#networks ??= networksOf(
      this.#definitions.list() ?? [],
      (object) => this.#persistenceOf(object),
      this.#systemNamespace,
    );
    return this.#networks;
  }

  #persistenceOf(object: StoredDefinition): Persistence {
    const known = this.#read.get(object);
    if (known !== undefined) return known;
    const persistence = persistenceOf(object.spec?.config ?? "");
    this.#read.set(object, persistence);
    return persistence;
  }
}

/** Where one of several definitions of a name is ours, we give its addresses: what we hold is kept. */
function networksOf(
  objects: readonly StoredDefinition[],
  read: (object: StoredDefinition) => Persistence,
  systemNamespace: string,
): ReadonlyMap<string, Network> {
  const found = new Map<string, Network>();
  for (const object of objects) {
    const { network, isOurs } = read(object);
    if (network === "") continue;
    const before = found.get(network);
    const [definition] = isOurs ? readDefinitions([object], systemNamespace).readable : [];
    const own = definition?.config.ranges.map((range) => ({ definition, range })) ?? [];
    found.set(network, {
      isOurs: isOurs || before?.isOurs === true,
      ranges: [...(before?.ranges ?? []), ...own],
    });
  }
  return found;
}

function isWithin({ prefix, start, end }: IpamRange, address: Address): boolean {
  if (!contains(prefix, address)) return false;
  return (start === undefined || compare(address, start) >= 0) && (end === undefined || compare(address, end) <= 0);
}
