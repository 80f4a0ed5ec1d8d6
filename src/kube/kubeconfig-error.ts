// What is wrong with a configuration, in words that say where and what to do.

export class ConfigError extends Error {
  readonly code = "config";
  override readonly name = "ConfigError";
}
