// Discovery: which groups, versions and resources there are, in the old form and the aggregated one.
import type { JsonObject, JsonValue } from "./json.ts";
import { reviewKinds } from "./registry/builtin.ts";
import type { Registry } from "./registry/registry.ts";
import { apiVersion, type Resource } from "./registry/resource.ts";

export const serverVersion: JsonObject = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.3+holdfast",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "node",
  platform: "linux/amd64",
};

const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const subresourceVerbs: Readonly<Record<string, string[]>> = {
  status: ["get", "patch", "update"],
  finalize: ["update"],
  binding: ["create"],
  eviction: ["create"],
};
/** Where it is not the resource's own. */
const subresourceKinds: Readonly<Record<string, JsonObject>> = {
  binding: { group: "", version: "v1", kind: "Binding" },
  eviction: { group: "policy", version: "v1", kind: "Eviction" },
};

interface Listed extends Pick<
  Resource,
  "group" | "version" | "plural" | "singular" | "kind" | "namespaced" | "shortNames" | "categories" | "subresources"
> {
  readonly verbs: string[];
}

const stored = (resource: Resource): Listed => ({
  ...resource,
  verbs: resource.storage === "/namespaces" ? verbs.filter((verb) => verb !== "deletecollection") : verbs,
});

function listedOf(registry: Registry): Listed[] {
  return [...registry.all().map(stored), ...reviewKinds.map((kind) => ({ ...kind, verbs: ["create"] }))];
}

function rank(version: string): [number, number, number] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [-1, 0, 0];
  return [match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0, Number(match[1]), Number(match[3] ?? 0)];
}

/** GA before beta before alpha, then the higher number first, as clients expect their preferred version. */
function compareVersions(a: string, b: string): number {
  const [x, y] = [rank(a), rank(b)];
  for (let at = 0; at < 3; at++) if (x[at] !== y[at]) return y[at]! - x[at]!;
  return a < b ? -1 : 1;
}

/** Key: group; value: its versions, the preferred one first. */
function groupsOf(registry: Registry): Map<string, string[]> {
  const groups = Map.groupBy(listedOf(registry), ({ group }) => group);
  groups.delete("");
  const versions = (listed: readonly Listed[]) => [...new Set(listed.map(({ version }) => version))];
  return new Map([...groups].map(([group, listed]) => [group, versions(listed).sort(compareVersions)]));
}

function groupObject(group: string, versions: readonly string[]): JsonObject {
  const listed = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: listed, preferredVersion: listed[0]! };
}

export const apiVersions: JsonObject = {
  kind: "APIVersions",
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "127.0.0.1" }],
};

export function groupList(registry: Registry): JsonObject {
  const groups = [...groupsOf(registry)].map(([group, versions]) => groupObject(group, versions));
  return { kind: "APIGroupList", apiVersion: "v1", groups };
}

export function groupDocument(registry: Registry, group: string): JsonObject | undefined {
  const versions = groupsOf(registry).get(group);
  if (versions === undefined) return undefined;
  return { kind: "APIGroup", apiVersion: "v1", ...groupObject(group, versions) };
}

export function resourceList(registry: Registry, group: string, version: string): JsonObject | undefined {
  const listed = listedOf(registry).filter((resource) => resource.group === group && resource.version === version);
  if (listed.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: apiVersion({ group, version }),
    resources: listed.flatMap(resourceEntries),
  };
}

function resourceEntries(resource: Listed): JsonObject[] {
  const { plural, singular, namespaced, kind, verbs: allowed } = resource;
  const entry = { name: plural, singularName: singular, namespaced, kind, verbs: allowed, ...aliases(resource) };
  return [entry as JsonObject].concat(resource.subresources.map((name) => subresourceEntry(resource, name)));
}

/** An empty list is left out. */
const filled = <Item extends JsonValue>(list: readonly Item[]) => (list.length === 0 ? undefined : [...list]);

const aliases = ({ shortNames, categories }: Listed): JsonObject => ({
  shortNames: filled(shortNames),
  categories: filled(categories),
});

const subresourceEntry = ({ plural, namespaced, kind }: Listed, name: string): JsonObject => ({
  name: `${plural}/${name}`,
  singularName: "",
  namespaced,
  kind,
  ...subresourceKinds[name],
  verbs: subresourceVerbs[name] ?? ["get"],
});

/** apidiscovery.k8s.io/v2: everything in two requests. `legacy` is the core group. */
export function aggregated(registry: Registry, legacy: boolean): JsonObject {
  const groups: [string, string[]][] = legacy ? [["", ["v1"]]] : [...groupsOf(registry)];
  const listed = listedOf(registry);
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map(([group, versions]) => ({
      metadata: group === "" ? {} : { name: group },
      versions: versions.map((version) => ({
        version,
        resources: listed
          .filter((resource) => resource.group === group && resource.version === version)
          .map(aggregatedEntry),
        freshness: "Current",
      })),
    })),
  };
}

function aggregatedEntry(resource: Listed): JsonObject {
  const { group, version, kind } = resource;
  const responseKind = { group, version, kind };
  const subresources = resource.subresources.map((name) => ({
    subresource: name,
    responseKind: subresourceKinds[name] ?? responseKind,
    verbs: subresourceVerbs[name] ?? ["get"],
  }));
  return {
    resource: resource.plural,
    responseKind,
    scope: resource.namespaced ? "Namespaced" : "Cluster",
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...aliases(resource),
    subresources: filled(subresources),
  };
}
