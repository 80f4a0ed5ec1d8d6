// The network attachment definitions of a cluster that are ours, read once for shared pools, slices and check. Pure.
//
// Promised: a definition of others is passed over; one of ours that cannot be read is returned with the reason.
import { CniError } from "../error.ts";
import { isObject, show } from "../json.ts";
import { type IpamConfig, parseIpamConfig } from "./ipam-config.ts";
import { parseNetwork } from "./network.ts";
import { misnamed } from "./ovn-network.ts";
import { isOurs } from "./persistence.ts";

export interface DefinitionObject {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
    readonly uid?: string | undefined;
    readonly creationTimestamp?: string | undefined;
    readonly generation?: number | undefined;
  };
  readonly spec?: { readonly config?: string | undefined } | undefined;
}

export interface Definition {
  /** namespace/name. */
  readonly key: string;
  readonly object: DefinitionObject;
  readonly config: IpamConfig;
  /** What it asks for and does not get, each a sentence. */
  readonly warnings: readonly string[];
  readonly poolNamespace: string;
}

export interface Definitions {
  readonly readable: readonly Definition[];
  /** Sentences, one for each definition that is ours and cannot be read. */
  readonly unreadable: readonly { readonly definition: string; readonly why: string }[];
}

export function readDefinitions(objects: Iterable<DefinitionObject>, systemNamespace: string): Definitions {
  const readable: Definition[] = [];
  const unreadable: { definition: string; why: string }[] = [];
  for (const object of objects) {
    const { namespace = "", name = "" } = object.metadata;
    const key = namespace === "" ? name : `${namespace}/${name}`;
    const text = object.spec?.config ?? "";
    if (!hasOurs(text)) continue;
    try {
      const { config, warnings } = parseIpamConfig(parseNetwork(text));
      const fault = config.ovn && misnamed(config.ovn, key);
      if (fault !== undefined) {
        unreadable.push({ definition: key, why: `${fault.key} is ${show(fault.value)}: ${fault.reason}.` });
        continue;
      }
      const poolNamespace = config.poolNamespace === "nad" ? namespace : systemNamespace;
      readable.push({ key, object, config, warnings: warnings.map(({ message }) => message), poolNamespace });
    } catch (error) {
      if (!(error instanceof CniError)) throw error;
      unreadable.push({ definition: key, why: error.message });
    }
  }
  return { readable, unreadable };
}

/** Whether some plugin of the text has an ipam of ours; what is no JSON is nobody's. */
function hasOurs(text: string): boolean {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return false;
  }
  const plugins = isObject(parsed) && Array.isArray(parsed["plugins"]) ? (parsed["plugins"] as unknown[]) : [parsed];
  return plugins.some((plugin) => isObject(plugin) && isOurs(plugin));
}
