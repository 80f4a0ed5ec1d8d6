// The API without sockets, for tests: opened in memory, closed when the test is over, under a clock that stands still until told.
import { afterEach } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import type { Api, ApiOptions } from "../../src/apiserver/api.ts";
import type { Clock } from "../../src/apiserver/clock.ts";
import type { JsonObject } from "../../src/apiserver/json.ts";

const opened: Api[] = [];

export function open(options: Partial<ApiOptions> = {}): Api {
  const api = openApi({ path: ":memory:", ...options });
  opened.push(api);
  return api;
}

afterEach(() => {
  for (const api of opened.splice(0)) api.close();
});

export async function call(api: Api, method: string, path: string, body?: object, type = "application/json") {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await api.transport({ method, path, headers: { "content-type": type }, ...text });
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const reply = JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonObject;
  return { status: response.status, headers: response.headers, body: reply };
}

export const maps = "/api/v1/namespaces/default/configmaps";
export const map = (name: string, metadata: object = {}) => ({ metadata: { name, ...metadata } });
export const names = (list: JsonObject) =>
  (list["items"] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

/** Stands still until told. */
export class ManualClock implements Clock {
  ms = Date.parse("2026-01-01T00:00:00Z");
  readonly #sleepers = new Set<{ at: number; wake: () => void }>();

  now(): number {
    return this.ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = { at: this.ms + ms, wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers.delete(sleeper);
        resolve();
      });
    });
  }

  get sleeping(): number {
    return this.#sleepers.size;
  }

  advance(ms: number): void {
    this.ms += ms;
    for (const sleeper of this.#sleepers) {
      if (sleeper.at > this.ms) continue;
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }
}
