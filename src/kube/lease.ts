// The Lease object, and the one step of leader election on it: take it, keep it, or learn who has it.
import type { Clock } from "./clock.ts";
import type { KubeObject } from "./meta.ts";
import { defineResource } from "./resource.ts";
import type { CallOptions, KubeClient } from "./rest.ts";
import { unless } from "./unless.ts";

export interface Lease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

const leases = defineResource<Lease>({ group: "coordination.k8s.io", version: "v1", kind: "Lease", namespaced: true });

export interface LeaseLockOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  /** Different for every process that may lead. */
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly clock: Clock;
}

/** Judges another's lease only by when this process saw it change: clocks of different machines are never compared. */
export class LeaseLock {
  readonly #options: LeaseLockOptions;
  #observed: Lease | undefined;
  #observedMs = 0;
  #isSetBack = false;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
  }

  /** Who holds it, as last seen; empty if nobody. */
  get holder(): string {
    return this.#observed?.spec?.holderIdentity ?? "";
  }

  /** By the monotonic clock of this process: when another may take it, as far as it has been seen. */
  get expiresAtMs(): number {
    return this.#observedMs + (this.#observed?.spec?.leaseDurationSeconds ?? 0) * 1000;
  }

  /** It is older than it was when it was seen last: the server was restored from an older copy. */
  get isSetBack(): boolean {
    return this.#isSetBack;
  }

  /** True if it is ours from now on. Throws ApiError if the server could not be asked, or left the outcome open. */
  async tryHold(signal: AbortSignal, timeoutMs: number): Promise<boolean> {
    const { identity, client, namespace, name } = this.#options;
    const call = { signal, timeoutMs };
    // Ours and untouched: one write, no read. If somebody did touch it, the version tells.
    const before = this.#observed;
    const wasOurs = before !== undefined && this.holder === identity;
    if (wasOurs && (await this.#write(before, call))) return true;
    const found = await client.lookUp(leases, { namespace, name }, call);
    if (found === undefined) {
      this.#observed = undefined;
      return wasOurs ? false : this.#create(call);
    }
    this.#observe(found);
    this.#isSetBack = isOlder(this.#observed, before);
    if (this.#isSetBack || (wasOurs && this.holder === "")) return false;
    if (this.holder !== "" && this.holder !== identity && !this.#expired()) return false;
    return this.#write(this.#observed!, call);
  }

  /** Who holds it now, without asking for it; empty if nobody. */
  async look(signal: AbortSignal, timeoutMs: number): Promise<string> {
    const { client, namespace, name } = this.#options;
    const found = await client.lookUp(leases, { namespace, name }, { signal, timeoutMs });
    return found?.spec?.holderIdentity ?? "";
  }

  /** Gives it up, if it is still ours, so that the next need not wait for it to expire. */
  async release(signal: AbortSignal, timeoutMs: number): Promise<void> {
    const call = { signal, timeoutMs };
    if (await this.#giveUp(call)) return;
    // A renewal that was under way at the shutdown may have been written without our hearing of it.
    const { client, namespace, name } = this.#options;
    this.#observe(await client.get(leases, { namespace, name }, call));
    await this.#giveUp(call);
  }

  async #giveUp(call: CallOptions): Promise<boolean> {
    const lease = this.#observed;
    if (lease === undefined || this.holder !== this.#options.identity) return true;
    const spec = { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: this.#now() };
    return this.#update({ ...lease, spec }, call);
  }

  async #create(call: CallOptions): Promise<boolean> {
    const { namespace, name, client } = this.#options;
    const lease = { metadata: { namespace, name }, spec: this.#spec(undefined) };
    return this.#written(await unless(["already-exists"], client.create(leases, lease, call)));
  }

  #write(lease: Lease, call: CallOptions): Promise<boolean> {
    return this.#update({ ...lease, spec: this.#spec(lease.spec) }, call);
  }

  /** Guarded by the version that was seen; false if somebody was faster. */
  async #update(lease: Lease, call: CallOptions): Promise<boolean> {
    return this.#written(await unless(["conflict", "not-found"], this.#options.client.update(leases, lease, call)));
  }

  #written(lease: Lease | undefined): boolean {
    if (lease !== undefined) this.#observe(lease);
    return lease !== undefined;
  }

  #spec(before: Lease["spec"]): NonNullable<Lease["spec"]> {
    const { identity, leaseDurationMs } = this.#options;
    const mine = before?.holderIdentity === identity;
    const transitions = before?.leaseTransitions ?? 0;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
      acquireTime: mine && before.acquireTime !== undefined ? before.acquireTime : this.#now(),
      renewTime: this.#now(),
      leaseTransitions: mine || before === undefined ? transitions : transitions + 1,
    };
  }

  #observe(lease: Lease): void {
    if (lease.metadata.resourceVersion === this.#observed?.metadata.resourceVersion) return;
    this.#observed = lease;
    this.#observedMs = this.#options.clock.monotonicMs();
  }

  #expired(): boolean {
    return this.#options.clock.monotonicMs() >= this.expiresAtMs;
  }

  /** MicroTime: RFC 3339 with six digits. */
  #now(): string {
    return new Date(this.#options.clock.wallMs()).toISOString().replace("Z", "000Z");
  }
}

function isOlder(now: Lease | undefined, before: Lease | undefined): boolean {
  const { holderIdentity: holder, leaseTransitions: changes = 0, renewTime = "" } = now?.spec ?? {};
  const last = before?.spec ?? {};
  // Of one writer: RFC 3339 with as many digits sorts by time.
  return (
    changes < (last.leaseTransitions ?? 0) || (holder === last.holderIdentity && renewTime < (last.renewTime ?? ""))
  );
}
