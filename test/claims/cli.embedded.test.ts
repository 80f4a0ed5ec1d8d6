// The commands about claims on the embedded API, over TLS.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openApi } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";
import { cliSuite } from "./cli-suite.ts";

cliSuite("the embedded API", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  const kubeconfig = join(folder, "kubeconfig");
  const api = openApi({ path: ":memory:" });
  const served = await serve(api, { port: 0, kubeconfigPath: kubeconfig });
  return {
    kubeconfig,
    stop: async () => {
      await served.close();
      api.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});
