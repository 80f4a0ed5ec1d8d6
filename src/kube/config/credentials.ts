// What is needed to speak to one cluster, wherever it was read from; and who we are to it, as something that may change
// while we run: tokens rotate, plugins hand out new ones.
import type { Clock } from "../clock.ts";
import type { TlsMaterial } from "../transport/dial.ts";

export interface ClusterConfig extends Pick<TlsMaterial, "ca" | "serverName"> {
  readonly server: string;
  readonly credentials: Credentials;
  /** Where to work if nothing else is said. */
  readonly namespace: string;
}

/** What is wrong with a configuration, in words that say where and what to do. */
export class ConfigError extends Error {
  readonly code = "config";
  override readonly name = "ConfigError";
}

export interface Credential extends Pick<TlsMaterial, "cert" | "key"> {
  readonly headers: Readonly<Record<string, string>>;
}

export interface Credentials {
  current(): Promise<Credential>;
  /** The server answered 401 to it: the next one must be fetched anew. */
  reject(credential: Credential): void;
}

export type ReadText = (path: string) => Promise<string>;

/** Projected tokens are replaced an hour before they expire: a minute's age is harmless; client-go reads as often. */
const rereadMs = 60_000;

export function fixedCredentials(credential: Credential): Credentials {
  return { current: () => Promise.resolve(credential), reject() {} };
}

export function bearer(token: string): Credential {
  return { headers: { authorization: `Bearer ${token}` } };
}

/** Reads again once a minute, or at once after a 401. While a file cannot be read the old credential stays in use. */
export function rereadCredentials(read: () => Promise<Credential>, clock: Clock): Credentials {
  let known: Credential | undefined;
  let readMs = Number.NEGATIVE_INFINITY;
  return {
    async current() {
      if (known !== undefined && clock.monotonicMs() - readMs < rereadMs) return known;
      try {
        const fresh = await read();
        if (known === undefined || !sameCredential(known, fresh)) known = fresh;
      } catch (error) {
        if (known === undefined) throw error;
      }
      readMs = clock.monotonicMs();
      return known;
    },
    reject(credential) {
      if (credential === known) readMs = Number.NEGATIVE_INFINITY;
    },
  };
}

function sameCredential(a: Credential, b: Credential): boolean {
  return a.headers["authorization"] === b.headers["authorization"] && a.cert === b.cert && a.key === b.key;
}
