// The suite on the embedded API: over HTTPS as kubectl reaches it, and in the process as tests and simulation do.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openApi } from "../../../src/apiserver/api.ts";
import { serve } from "../../../src/apiserver/serve/server.ts";
import { apiConformance, type RunningServer } from "./suite.ts";

/** On a file, as it is used, so that the cases see the durable path. */
async function startServed(): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-embedded-"));
  const api = openApi({ path: join(folder, "api.sqlite") });
  const served = await serve(api);
  return {
    url: served.url,
    token: served.token,
    caPem: served.certificate,
    compact: async () => api.compact(),
    stop: async () => {
      await served.close();
      api.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startInProcess(): Promise<RunningServer> {
  const api = openApi({ path: ":memory:" });
  return {
    url: "in-process:",
    token: "unused",
    transport: api.transport,
    compact: async () => api.compact(),
    stop: async () => api.close(),
  };
}

const noTokens = "In the process there are no tokens: whoever holds the API is its administrator.";

apiConformance({ name: "embedded API over HTTPS", start: startServed });
apiConformance({
  name: "embedded API in the process",
  start: startInProcess,
  skips: {
    "a wrong token is Unauthorized": noTokens,
    "without a token nothing is read": noTokens,
    "without a token nothing is written": noTokens,
    "a scheme other than Bearer does not let in": noTokens,
    "a wrong token does not open a watch": noTokens,
  },
});
