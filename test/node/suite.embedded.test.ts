// The daemon on the embedded API, in one process.
import { openApi } from "../../src/apiserver/api.ts";
import { nodeStories } from "./suite.ts";

nodeStories("embedded API", async () => {
  const api = openApi({ path: ":memory:" });
  return { transport: api.transport, stop: async () => api.close() };
});
