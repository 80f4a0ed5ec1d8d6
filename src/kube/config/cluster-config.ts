// What is needed to speak to one cluster, wherever it was read from.
import type { Credentials } from "./credentials.ts";

export interface ClusterConfig {
  readonly server: string;
  /** PEM; the system's own authorities if there is none. */
  readonly ca?: string | undefined;
  readonly serverName?: string | undefined;
  readonly insecure: boolean;
  readonly credentials: Credentials;
  /** Where to work if nothing else is said. */
  readonly namespace: string;
}

/** What is wrong with a configuration, in words that say where and what to do. */
export class ConfigError extends Error {
  readonly code = "config";
  override readonly name = "ConfigError";
}
