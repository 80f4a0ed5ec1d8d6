// The embedded API in this process, empty.
import { openApi } from "../../src/apiserver/api.ts";
import type { Server } from "../node/fixture.ts";

export async function embeddedServer(): Promise<Server> {
  const api = openApi({ path: ":memory:" });
  return { transport: api.transport, stop: async () => api.close() };
}
