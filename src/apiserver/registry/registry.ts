// Which resources there are now: the built-in table, and what the established CRDs bring.
import type { Store } from "../store/store.ts";
import { builtinResources } from "./builtin.ts";
import { crdStorage, resourcesOf } from "./crd.ts";
import { apiVersion as versionOf, type Resource } from "./resource.ts";

export class Registry {
  readonly #store: Store;
  /** Key: CRD name. */
  readonly #custom = new Map<string, readonly Resource[]>();
  /** Key: group/version/plural. Rebuilt when a CRD changes. */
  #byPath = new Map<string, Resource>();
  /** Grows with every change of the resources; the discovery and OpenAPI documents are cached by it. */
  generation = 0;

  constructor(store: Store) {
    this.#store = store;
    for (const entry of store.collection(crdStorage).values()) this.#custom.set(entry.name, resourcesOf(entry.object));
    this.#index();
    store.subscribe((changes) => {
      const ours = changes.filter((change) => change.entry.resource === crdStorage);
      if (ours.length === 0) return;
      for (const { type, entry } of ours) {
        if (type === "DELETED") this.#custom.delete(entry.name);
        else this.#custom.set(entry.name, resourcesOf(entry.object));
      }
      this.#index();
    });
  }

  #index(): void {
    this.#byPath = new Map(
      this.all().map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
    );
    this.generation++;
  }

  all(): Resource[] {
    return [...builtinResources, ...[...this.#custom.values()].flat()];
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }

  /** By kind, as owner references name it. */
  byKind(apiVersion: string, kind: string): Resource | undefined {
    return this.all().find((resource) => resource.kind === kind && apiVersion === versionOf(resource));
  }

  /** One resource for each kind that is stored: the version it is stored in, or else the first that is served. */
  stored(): Resource[] {
    const found = new Map<string, Resource>();
    for (const resource of this.all()) {
      if (resource.storageVersion === versionOf(resource) || !found.has(resource.storage))
        found.set(resource.storage, resource);
    }
    return [...found.values()];
  }

  /** Any other CRD of the same group that has one of these names already. */
  nameTaken(crdName: string, group: string, names: ReadonlySet<string>): string | undefined {
    for (const entry of this.#store.collection(crdStorage).values()) {
      if (entry.name === crdName) continue;
      for (const resource of this.#custom.get(entry.name) ?? []) {
        if (resource.group !== group) continue;
        const taken = [resource.plural, resource.singular, resource.kind, resource.listKind, ...resource.shortNames];
        const clash = taken.find((name) => names.has(name));
        if (clash !== undefined) return clash;
      }
    }
    return undefined;
  }
}
