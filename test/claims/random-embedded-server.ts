// The embedded API in this process, empty, with the button that makes it forget its history.
import { openApi } from "../../src/apiserver/api.ts";
import type { RandomServer } from "./random-suite.ts";

export async function randomEmbeddedServer(): Promise<RandomServer> {
  const api = openApi({ path: ":memory:" });
  return { transport: api.transport, compact: () => api.compact(), stop: async () => api.close() };
}
