// Parsed configurations, by their text: the same network comes with every pod, and parsing is most of a request's time.
import { type Parsed, parseIpamConfig } from "../../cni/config/ipam-config.ts";
import { type NetworkConfig, parseNetwork } from "../../cni/config/network.ts";
import type { Persistence } from "../../cni/config/persistence.ts";
import { Recent } from "../../kube/cache/recent.ts";
import type { Log } from "../../log/log.ts";
import type { DaemonContext } from "../context.ts";
import type { FindFlatFile } from "./flat-file.ts";

export interface LoadedConfig extends Parsed {
  readonly network: NetworkConfig;
  readonly persistence: Persistence;
}

/** A cluster has some hundred networks; prevResult and runtimeConfig differ per pod, so old texts must leave. */
const maxCached = 512;

/** Throws CniError: code 6 for no JSON, 7 for a wrong configuration, 5 for an unreadable flat file. */
export type LoadConfig = (text: string) => Promise<LoadedConfig>;

export function configLoader(findFile: FindFlatFile, log: Log): LoadConfig {
  /** Text of the `ipam` object with name, version, the keys beside it and the flat file's stamp -> its parsing. */
  const cache = new Recent<Parsed>(maxCached);
  return async (text) => {
    const network = parseNetwork(text);
    const inline = network.ipam["configuration_path"];
    const file = await findFile(typeof inline === "string" ? inline : "");
    const { cniVersion, name, ipam, overlay, ovn, persistence, declaresIps } = network;
    const key = JSON.stringify([cniVersion, name, ipam, overlay, ovn, persistence, declaresIps, file?.stamp]);
    const known = cache.get(key);
    if (known !== undefined) return { ...known, network, persistence };
    const parsed = parseIpamConfig(network, file);
    cache.set(key, parsed);
    for (const { message } of [...parsed.notices, ...parsed.warnings]) log.warn(message, { network: name });
    return { ...parsed, network, persistence };
  };
}

/** For commands that work with any input: undefined where the configuration cannot be read. */
export async function configIn({ loadConfig, log }: DaemonContext, command: string, text: string) {
  try {
    return await loadConfig(text);
  } catch (error) {
    log.warn(`${command} with a configuration that cannot be read; it goes by what this node knows`, { error });
    return undefined;
  }
}
