// The way in and the way out, on the embedded API.
import { openApi } from "../../src/apiserver/api.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { setupStories } from "./setup-suite.ts";

setupStories(
  "the embedded API",
  async () => {
    const api = openApi({ path: ":memory:" });
    return { client: new KubeClient({ transport: api.transport }), stop: async () => api.close() };
  },
  60_000,
);
