// The one ConfigMap by which the leader tells every daemon: `holdfast-state` in the system namespace. Promised: a
// missing or unreadable key reads as the safe side: coexistence on (slower, never a duplicate), and not paused.
import type { Clock } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import { poolNamespaceKey, readWord } from "./coexistence-word.ts";
import { type ConfigMap, configMaps } from "./resources.ts";

export const stateName = "holdfast-state";
/** In the same namespace: whoever holds it leads. */
export const controllerLease = "holdfast-controller";
/** Since when a restored API server waits for nodes to say what they have; absent: it does not. */
export const restoredKey = "restored";

export interface State {
  /** Another writer of the same objects is active: every take also writes the pool's entry. */
  readonly coexistence: boolean;
  readonly why: string;
  /** Empty, or who paused handing out, and why. */
  readonly paused: string;
  /** Where pools are, if not in the system namespace. */
  readonly poolNamespace?: string;
}

export function readState(object: ConfigMap | undefined): State {
  const missing = `there is no ConfigMap ${stateName} yet, so whereabouts may be active: start \`holdfast controller\`, which writes it`;
  if (object === undefined) return { coexistence: true, why: missing, paused: "" };
  const { coexistence: said = "", why: reason = "", paused = "" } = object.data ?? {};
  // Where the key is lost, the operator's word still says that pools are not here.
  const poolNamespace = object.data?.[poolNamespaceKey] ?? readWord(object)?.namespace;
  const place = poolNamespace && poolNamespace !== object.metadata.namespace && { poolNamespace };
  const isSaid = said === "on" || said === "off";
  const unsaid = `coexistence is ${JSON.stringify(said)}, neither "on" nor "off": say one of them with \`holdfast coexistence\``;
  return { coexistence: said !== "off", why: reason || (isSaid ? "" : unsaid), paused, ...place };
}

/** Empty, or in a sentence why no slice is granted and no claim gets an address. */
export function restsOf({ coexistence, why, paused, poolNamespace }: State): string {
  if (paused !== "") return `handing out is paused: ${paused}`;
  if (!coexistence && poolNamespace !== undefined)
    return `pools are in the namespace ${poolNamespace}, where whereabouts kept them: install Holdfast there (docs/install.md)`;
  return coexistence ? `whereabouts is, or may be, active: ${why || "the operator's word is on"}` : "";
}

/** With what a command asks a cluster. */
export interface ClusterAccess {
  readonly client: KubeClient;
  readonly systemNamespace: string;
  readonly signal: AbortSignal;
}

/** With what a command does what must be confirmed. */
export interface ConfirmedAccess extends ClusterAccess {
  readonly clock: Clock;
  readonly dryRun: boolean;
  readonly isConfirmed: boolean;
  readonly say: (line: string) => void;
}

interface StateScope {
  readonly namespace: string;
  readonly signal?: AbortSignal;
}

export function fetchState(client: KubeClient, { namespace, signal }: StateScope): Promise<ConfigMap | undefined> {
  return client.lookUp(configMaps, { namespace, name: stateName }, { signal });
}

/** Writes these keys beside the others, guarded by what was read: a race throws `conflict` or `already-exists`. */
export function saveState(
  client: KubeClient,
  { namespace, signal }: StateScope,
  there: ConfigMap | undefined,
  data: Readonly<Record<string, string>>,
): Promise<ConfigMap> {
  const metadata = { namespace, name: stateName };
  if (there === undefined) return client.create(configMaps, { metadata, data }, { signal });
  return client.update(configMaps, { ...there, data: { ...there.data, ...data } }, { signal });
}

export function stateReference(namespace: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: stateName } };
}
