// Migrations on the embedded API.
import { openApi } from "../../src/apiserver/api.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { transferSuite } from "./suite.ts";

transferSuite("embedded API", async () => {
  const api = openApi({ path: ":memory:" });
  return { client: new KubeClient({ transport: api.transport }), stop: async () => api.close() };
});
