// How often one client is answered: a bucket of tokens for each, and a limit to the number of buckets.

export interface RateLimitOptions {
  /** So many at once. A boot that asks for its address in firmware, loader and system takes six. */
  readonly burst: number;
  readonly perSecond: number;
  /** Two generations of half as many buckets, some 80 bytes each. A forgotten client begins with a full bucket. */
  readonly clientsMax: number;
}

export const rateLimitDefaults: RateLimitOptions = { burst: 16, perSecond: 4, clientsMax: 32_768 };

interface Bucket {
  tokens: number;
  atMs: number;
}

export class RateLimit {
  readonly #options: RateLimitOptions;
  /** Key: macKeyOf. */
  #young = new Map<number, Bucket>();
  /** Those that have not asked since the young ones became too many; they go all at once. */
  #old = new Map<number, Bucket>();

  constructor(options: RateLimitOptions) {
    this.#options = options;
  }

  /** Those that came back are counted twice: a bound, not a census. */
  get clients(): number {
    return this.#young.size + this.#old.size;
  }

  /** Whether this client may be answered now; if so, that counts. Time that goes backwards adds nothing. */
  take(client: number, nowMs: number): boolean {
    const { burst, perSecond } = this.#options;
    const bucket = this.#bucket(client, nowMs);
    const passedMs = Math.max(0, nowMs - bucket.atMs);
    bucket.tokens = Math.min(burst, bucket.tokens + (passedMs * perSecond) / 1000);
    bucket.atMs = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  #bucket(client: number, nowMs: number): Bucket {
    const young = this.#young.get(client);
    if (young !== undefined) return young;
    const bucket = this.#old.get(client) ?? { tokens: this.#options.burst, atMs: nowMs };
    if (this.#young.size >= this.#options.clientsMax / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(client, bucket);
    return bucket;
  }
}
