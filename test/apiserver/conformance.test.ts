// The conformance suite on the embedded API, over TLS and a real socket.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openApi } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";
import { apiConformance } from "../conformance/api/suite.ts";

apiConformance({
  name: "embedded API",
  start: async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-api-"));
    const api = openApi({ path: join(folder, "api.db") });
    const server = await serve(api);
    return {
      url: server.url,
      token: server.token,
      caPem: server.certificate,
      compact: async () => api.compact(),
      stop: async () => {
        await server.close();
        api.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
});
