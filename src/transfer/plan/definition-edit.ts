// The configuration of a definition, changed to say where its pools will be. Every other key stays, in its order.
import { isObject, type JsonObject } from "../../cni/json.ts";
import type { Placement } from "./goal.ts";
import type { Network } from "./network.ts";

export interface DefinitionEdit {
  /** namespace/name of the definition. */
  readonly key: string;
  /** Key of `ipam`, before and after; undefined: not there. */
  readonly changes: readonly { readonly key: string; readonly before?: string; readonly after?: string }[];
  readonly before: string;
  readonly after: string;
}

const types: ReadonlySet<unknown> = new Set(["holdfast", "whereabouts"]);

/** Undefined where the definition says it already. */
export function definitionEdit(network: Network, to: Placement): DefinitionEdit | undefined {
  const before = network.definition.spec?.config ?? "";
  const object = JSON.parse(before) as JsonObject;
  const wanted: Record<string, string | undefined> = {
    network_name: to.network === "" ? undefined : to.network,
    pool_namespace: to.poolNamespace === "cluster" ? undefined : to.poolNamespace,
    pool_naming: to.naming === "whereabouts" ? undefined : to.naming,
  };
  const ipam = ipamOf(object);
  const changes = Object.entries(wanted).flatMap(([key, after]) => {
    const written = typeof ipam[key] === "string" && ipam[key] !== "" ? ipam[key] : undefined;
    // An overlay network that gives no network_name has its own name: what it says already.
    const now = written ?? (key === "network_name" && network.networkName !== "" ? network.networkName : undefined);
    const isDefault = (now === "cluster" || now === "whereabouts") && after === undefined && key !== "network_name";
    if (now === after || isDefault) return [];
    return [{ key, ...(now !== undefined && { before: now }), ...(after !== undefined && { after }) }];
  });
  if (changes.length === 0) return undefined;
  const changed = Object.fromEntries(changes.map((change) => [change.key, change.after]));
  // JSON leaves out what is undefined: a key that goes.
  const edited = withIpam(object, (old) => ({ ...old, ...changed }));
  const after = JSON.stringify(edited, undefined, before.includes("\n") ? 2 : undefined);
  return { key: network.key, changes, before, after };
}

function ipamOf(object: JsonObject): JsonObject {
  let found: JsonObject = {};
  withIpam(object, (ipam) => (found = ipam));
  return found;
}

/** The same configuration with the ipam object that is ours replaced: at the top, or in the one plugin of a list. */
function withIpam(object: JsonObject, change: (ipam: JsonObject) => JsonObject): JsonObject {
  if (Array.isArray(object["plugins"])) {
    const plugins = (object["plugins"] as readonly unknown[]).map((plugin) =>
      isObject(plugin) && isOurs(plugin) ? { ...plugin, ipam: change(plugin["ipam"] as JsonObject) } : plugin,
    );
    return { ...object, plugins };
  }
  return isOurs(object) ? { ...object, ipam: change(object["ipam"] as JsonObject) } : object;
}

function isOurs(plugin: JsonObject): boolean {
  return isObject(plugin["ipam"]) && types.has(plugin["ipam"]["type"]);
}
