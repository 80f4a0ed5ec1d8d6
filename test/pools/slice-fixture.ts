// An embedded API with our kinds, and a clock whose waits are over at once: the test says what happens meanwhile.
import { type Api, openApi } from "../../src/apiserver/api.ts";
import { nowMs } from "../../src/check/slices/testing/snapshot.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { Clock } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import {
  type SliceParts,
  sliceObject,
  slicePoolObject,
  type SlicePoolParts,
  system,
} from "../../src/slices/testing/objects.ts";
import { installDefinitions } from "../ledger/definitions.ts";

/** Every wait is one step: the hook runs, then the time has passed. */
class StepClock implements Clock {
  #nowMs = nowMs;
  /** Called with the length of each wait. */
  meanwhile: (delayMs: number) => Promise<void> | void = () => {};

  wallMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const wait = { isOff: false, callback };
    void this.#pass(delayMs, wait);
    return () => void (wait.isOff = true);
  }

  async #pass(delayMs: number, wait: { readonly isOff: boolean; readonly callback: () => void }): Promise<void> {
    await Promise.resolve();
    await this.meanwhile(delayMs);
    this.#nowMs += delayMs;
    if (!wait.isOff) wait.callback();
  }
}

export class SliceFixture {
  readonly #api: Api;
  readonly client: KubeClient;
  readonly clock = new StepClock();
  /** Called before a request is carried out, once; then forgotten. */
  #before: { readonly method: string; readonly act: () => Promise<void> } | undefined;

  private constructor() {
    this.#api = openApi({ path: ":memory:" });
    this.client = new KubeClient({ transport: this.#send });
  }

  static async open(): Promise<SliceFixture> {
    const fixture = new SliceFixture();
    await installDefinitions(fixture.client);
    await fixture.client.create(kinds.namespaces, { metadata: { name: system } }).catch((error: unknown) => {
      if (!isApiError(error, "already-exists")) throw error;
    });
    return fixture;
  }

  close(): void {
    this.#api.close();
  }

  readonly #send: Transport = async (request) => {
    const before = this.#before;
    if (before !== undefined && before.method === request.method) {
      this.#before = undefined;
      await before.act();
    }
    return this.#api.transport(request);
  };

  /** Just before the next request of that method arrives, another writes. */
  beforeNext(method: string, act: () => Promise<void>): void {
    this.#before = { method, act };
  }

  slice(parts: SliceParts = {}): Promise<kinds.StoredPool> {
    return this.client.create(kinds.ipPools, sliceObject(parts));
  }

  /** Created, then written. */
  async pool(parts: SlicePoolParts = {}): Promise<void> {
    const { status, ...object } = slicePoolObject(parts);
    const made = await this.client.create(kinds.nodeSlicePools, object);
    await this.client.update(kinds.nodeSlicePools, { ...made, status: status! });
  }

  async node(name: string, ready: "True" | "False" | "Unknown"): Promise<void> {
    await this.client.create(kinds.nodes, { metadata: { name } });
    const body = { status: { conditions: [{ type: "Ready", status: ready }] } };
    await this.client.patch(kinds.nodes, { name }, { type: "merge", body }, { subresource: "status" });
  }

  /** Name of the slice's IPPool -> an annotation of it. */
  async annotations(annotation: string): Promise<Record<string, string | undefined>> {
    const { items } = await this.client.list(kinds.ipPools);
    return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.annotations?.[annotation]]));
  }
}
