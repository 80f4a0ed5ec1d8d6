// The API without sockets, for tests: opened in memory, closed after the test, under a clock that the test moves.
import { afterEach } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import type { Api, ApiOptions } from "../../src/apiserver/api.ts";
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
