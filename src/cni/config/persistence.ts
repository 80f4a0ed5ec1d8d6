// Whether a network attachment definition lets VMs keep addresses, and the network's name. Read of every definition,
// also where others give the addresses, since its claims are made here too. Pure and lenient: an unreadable definition
// allows nothing, with the reason.
//
// Promised: for a definition of ours, the parser (ipam-config.ts) says the same, by the same rule (overlay.ts).
import { isObject, type JsonObject, kindOf, show, textOf } from "../json.ts";
import { type Fault, isAttached, isOvnKubernetes, keyOf, overlayFault, overlayOf, sourcesIn } from "./overlay.ts";

export interface Persistence {
  /** The name in the CNI configuration: `spec.network` of a claim. */
  readonly network: string;
  /** `allowPersistentIPs`, and nothing forbids it. */
  readonly isAllowed: boolean;
  /** `role` is primary: it takes the place of the pod network in its namespace. */
  readonly isPrimary: boolean;
  /** Our IPAM gives its addresses. */
  readonly isOurs: boolean;
  /** Ours by a type that OVN-Kubernetes uses too: who runs it says whose it is. */
  readonly mayBeOvnKubernetes?: true;
  /** Why it is not allowed although it is asked for, or why the text cannot be read; empty: nothing is wrong. */
  readonly problem: string;
  /** The same, by key and value, where the text could be read. */
  readonly fault?: Fault;
}

const nothing: Persistence = { network: "", isAllowed: false, isPrimary: false, isOurs: false, problem: "" };
const key = "allowPersistentIPs";

/** By version of a definition, asked for all the time; one that nobody has any more takes its reading along. */
const readings = new WeakMap<object, Persistence>();

/** Of a network attachment definition that does not change any more. */
export function readPersistence(definition: {
  readonly spec?: { readonly config?: string | undefined } | undefined;
}): Persistence {
  const known = readings.get(definition) ?? persistenceOf(definition.spec?.config ?? "");
  readings.set(definition, known);
  return known;
}

export function persistenceOf(text: string): Persistence {
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch (error) {
    return { ...nothing, problem: `its config is no JSON (${error instanceof Error ? error.message : String(error)})` };
  }
  return isObject(whole) ? persistenceIn(whole) : { ...nothing, problem: "its config is no object" };
}

export function persistenceIn(whole: JsonObject): Persistence {
  const listed = Array.isArray(whole["plugins"]) ? whole["plugins"].filter(isObject) : [];
  const plugins = listed.length > 0 ? listed : [whole];
  const ours = plugins.find(isOurs);
  const names = [whole, ...(ours === undefined ? plugins : [ours])].map(({ name }) => textOf(name));
  const network = names.find((name) => name !== "") ?? "";
  const isPrimary = plugins.some((each) => keyOf(each, "role") === "primary");
  const wishes = [whole, ...plugins].flatMap(wishesOf);
  const fault = faultOf(wishes, network, plugins, ours);
  return {
    network,
    isAllowed: wishes.includes(true) && fault === undefined,
    isPrimary,
    isOurs: ours !== undefined,
    ...(ours !== undefined && isOvnKubernetes(ours) && { mayBeOvnKubernetes: true as const }),
    problem: fault === undefined ? "" : `${fault.key} is ${show(fault.value)}: ${fault.reason}`,
    ...(fault && { fault }),
  };
}

/** Our IPAM gives the addresses of this plugin. */
export function isOurs(plugin: JsonObject): boolean {
  const { ipam } = plugin;
  return isAttached(plugin) || (isObject(ipam) && (ipam["type"] === "holdfast" || ipam["type"] === "whereabouts"));
}

/** Beside the plugin's own keys, where OVN-Kubernetes has it, or in its ipam. */
function wishesOf(plugin: JsonObject): unknown[] {
  const inside = isObject(plugin["ipam"]) ? keyOf(plugin["ipam"], key) : undefined;
  return [keyOf(plugin, key), inside].filter((wish) => wish !== undefined);
}

function faultOf(
  wishes: readonly unknown[],
  network: string,
  plugins: readonly JsonObject[],
  ours: JsonObject | undefined,
): Fault | undefined {
  const odd = wishes.find((wish) => typeof wish !== "boolean");
  if (odd !== undefined)
    return { key, value: odd, reason: `it is ${kindOf(odd)}; write true or false, without quotes` };
  if (!wishes.includes(true)) return undefined;
  if (network === "") return { key: "name", value: "", reason: "a claim refers to the network by its name; write one" };
  const overlay = ours === undefined ? plugins.map(overlayOf).find((each) => each !== undefined) : overlayOf(ours);
  if (overlay === undefined) return undefined;
  const sources = sourcesIn(ours?.["ipam"]);
  return overlayFault(overlay, { isOurs: ours !== undefined, allowsPersistence: true, ...sources });
}
