// Parsed configurations, by their text: the same network comes with every pod, and parsing is most of a request's own time.
import { type Parsed, parseIpamConfig } from "../../cni/config/ipam-config.ts";
import { type NetworkConfig, parseNetwork } from "../../cni/config/network.ts";
import type { Persistence } from "../../cni/config/persistence.ts";
import { Recent } from "../../kube/cache/recent.ts";
import type { Log } from "../../log/log.ts";
import type { FlatFiles } from "./flat-file.ts";

export interface LoadedConfig extends Parsed {
  readonly network: NetworkConfig;
  readonly persistence: Persistence;
}

/** A cluster has some hundred networks; prevResult and runtimeConfig make a text differ per pod, so old ones must leave. */
const maxCached = 512;

export class Configs {
  readonly #files: Pick<FlatFiles, "find">;
  readonly #log: Log;
  /** Text of the `ipam` object with name, version, what stands beside it, and the flat file's stamp -> the parsed one. */
  readonly #parsed = new Recent<Parsed>(maxCached);

  constructor(files: Pick<FlatFiles, "find">, log: Log) {
    this.#files = files;
    this.#log = log;
  }

  /** Throws CniError: code 6 for what is no JSON, 7 for what is wrong, 5 where the flat file cannot be read. */
  async load(text: string): Promise<LoadedConfig> {
    const network = parseNetwork(text);
    const inline = network.ipam["configuration_path"];
    const file = await this.#files.find(typeof inline === "string" ? inline : "");
    const { cniVersion, name, ipam, overlay, persistence, declaresIps } = network;
    const key = JSON.stringify([cniVersion, name, ipam, overlay, persistence, declaresIps, file?.stamp]);
    const known = this.#parsed.get(key);
    if (known !== undefined) return { ...known, network, persistence };
    const parsed = parseIpamConfig(network, file);
    this.#parsed.set(key, parsed);
    for (const { message } of [...parsed.notices, ...parsed.warnings]) this.#log.warn(message, { network: name });
    return { ...parsed, network, persistence };
  }
}

/** For commands that work with whatever they get: undefined where the configuration cannot be read. */
export async function configIn(
  { configs, log }: { readonly configs: Configs; readonly log: Log },
  command: string,
  text: string,
): Promise<LoadedConfig | undefined> {
  try {
    return await configs.load(text);
  } catch (error) {
    log.warn(`${command} with a configuration that cannot be read; it goes by what this node knows`, { error });
    return undefined;
  }
}
