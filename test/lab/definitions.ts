// CustomResourceDefinitions that are there before any controller begins.
//
// Garbage collection lists kinds at its start, then every 30 s. If it knows an owner's kind but not its dependents', it
// finds none to orphan, lets the owner go, and never looks again: definitions made during its start lead to that.
import type { Rest } from "./rest.ts";
import { until } from "./wait.ts";

export interface LabDefinition {
  /** PLURAL.GROUP, as the API server demands. */
  readonly metadata: { readonly name?: string | undefined };
}

interface Discovery {
  readonly items: readonly {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly { readonly resources?: readonly { readonly resource: string }[] }[];
  }[];
}

/** What controllers read, of all servers behind this one: it may be seconds behind what is served. */
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Resolves when a controller that begins would find all of them. */
export async function define(rest: Rest, definitions: readonly LabDefinition[], signal?: AbortSignal): Promise<void> {
  if (definitions.length === 0) return;
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await Promise.all(definitions.map((each) => rest.create(path, each)));
  const isFound = async () => {
    const { items } = await rest.get<Discovery>("/apis", aggregated);
    const found = new Set(
      items.flatMap(({ metadata, versions }) =>
        versions.flatMap(({ resources = [] }) => resources.map(({ resource }) => `${resource}.${metadata.name}`)),
      ),
    );
    return definitions.every(({ metadata }) => found.has(metadata.name ?? ""));
  };
  await until(isFound, { what: "definitions to be found by controllers", signal });
}
