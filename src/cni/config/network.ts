// A network configuration from stdin or from a network attachment definition: one plugin, or a list.
//
// Of a list, the plugin whose `ipam` is ours is taken, wherever it stands, with the list's name and version
// (whereabouts takes the first, and loses both). Promised: the envelope is well formed. Not judged: the `ipam` object.
import { CniError, errorCodes } from "../error.ts";
import { isObject, type JsonObject, kindOf, parseJsonObject, show } from "../json.ts";
import { parseVersion, type SpecVersion } from "../version.ts";
import { isAttached, type Overlay, overlayOf } from "./overlay.ts";
import { type OvnNetwork, ovnNetworkOf } from "./ovn-network.ts";
import { isOurs, type Persistence, persistenceIn } from "./persistence.ts";

export interface NetworkConfig {
  readonly cniVersion: SpecVersion;
  /** The network's name; empty where none is given: only before specification 0.3.0, and in old definitions. */
  readonly name: string;
  readonly ipam: JsonObject;
  readonly runtimeConfig: JsonObject;
  readonly args: JsonObject;
  /** As the runtime sent it, in any version's form; undefined where it sent none. */
  readonly prevResult?: JsonObject;
  /** Where it is one of OVN's networks: what it says of its subnets. */
  readonly overlay?: Overlay;
  /** Where our own plugin attaches the pod: what it says of the interface. */
  readonly ovn?: OvnNetwork;
  readonly persistence: Persistence;
  /** The plugin declares the capability `ips`: pods may ask for addresses by number. */
  readonly declaresIps: boolean;
  /** The whole plugin object: GC reads its attachments from it. */
  readonly plugin: JsonObject;
}

/** CNI 1.1.0, section 1: what a network's name is made of. */
const namePattern = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/;

export function parseNetwork(text: string): NetworkConfig {
  const object = parseJsonObject(text, "the network configuration");
  const list = Object.hasOwn(object, "plugins");
  const plugin = list ? pluginOf(object) : object;
  const cniVersion = parseVersion(list ? (object["cniVersion"] ?? plugin["cniVersion"]) : object["cniVersion"]);
  const name = nameOf(list ? object["name"] : undefined) || nameOf(plugin["name"]);
  const ipam = ipamOf(plugin, name);
  const prevResult = optionalObject(plugin, "prevResult");
  const overlay = overlayOf(plugin);
  const ovn = ovnNetworkOf(plugin, name);
  return {
    cniVersion,
    name,
    ipam,
    runtimeConfig: optionalObject(plugin, "runtimeConfig") ?? {},
    args: optionalObject(plugin, "args") ?? {},
    ...(prevResult === undefined ? {} : { prevResult }),
    ...(overlay && { overlay }),
    ...(ovn && { ovn }),
    persistence: persistenceIn(object),
    declaresIps: isObject(plugin["capabilities"]) && plugin["capabilities"]["ips"] === true,
    plugin,
  };
}

function pluginOf(list: JsonObject): JsonObject {
  const plugins = list["plugins"];
  if (!Array.isArray(plugins) || !plugins.every(isObject)) {
    throw bad(`plugins is ${show(plugins)}: write a list of plugin objects.`);
  }
  const ours = plugins.filter(isOurs);
  const [plugin, another] = ours;
  if (plugin === undefined) {
    throw bad(
      'none of plugins has an ipam.type of "holdfast" or "whereabouts", or the type "holdfast-ovn": this list is not for us.',
    );
  }
  if (another === undefined) return plugin;
  throw bad(`${ours.length} of plugins are ours: one of a list gives the addresses; keep one.`);
}

function nameOf(value: unknown): string {
  if (value === undefined || value === null || value === "") return "";
  if (typeof value === "string" && namePattern.test(value)) return value;
  throw bad(`name is ${show(value)}: write letters, digits, "_", "." and "-", the first of them a letter or a digit.`);
}

function ipamOf(plugin: JsonObject, name: string): JsonObject {
  const ipam = plugin["ipam"];
  // What is wrong with it is told with everything else.
  if (isAttached(plugin)) return isObject(ipam) ? ipam : {};
  const where = name === "" ? "" : ` of the network ${name}`;
  if (!isObject(ipam)) {
    const what = kindOf(ipam ?? undefined);
    throw bad(`ipam${where} is ${what}: write an object with "type": "holdfast" and a range.`);
  }
  const type = ipam["type"];
  if (isOurs(plugin)) return ipam;
  throw bad(`ipam.type${where} is ${show(type)}: write "holdfast" ("whereabouts" is accepted too).`);
}

function optionalObject(plugin: JsonObject, key: string): JsonObject | undefined {
  const value = plugin[key];
  if (value === undefined || value === null) return undefined;
  if (isObject(value)) return value;
  throw bad(`${key} is ${show(value)}: write an object, or leave it out.`);
}

function bad(message: string): CniError {
  return new CniError(errorCodes.badConfiguration, message);
}
