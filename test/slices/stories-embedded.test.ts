// Sliced networks on the embedded API, in one process.
import { openApi } from "../../src/apiserver/api.ts";
import { sliceStories } from "./suite.ts";

sliceStories(
  "embedded API",
  async () => {
    const api = openApi({ path: ":memory:" });
    return { transport: api.transport, stop: async () => api.close() };
  },
  { kills: 40, rounds: 20, seeds: [1, 2] },
);
