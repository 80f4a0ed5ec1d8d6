// Migrations killed with -9 on the embedded API.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openApi } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { killSuite } from "./kill-suite.ts";

killSuite("embedded API", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-kill-api-"));
  const kubeconfig = join(folder, "kubeconfig");
  const api = openApi({ path: join(folder, "api.sqlite") });
  const served = await serve(api, { host: "127.0.0.1", port: 0, kubeconfigPath: kubeconfig });
  return {
    client: new KubeClient({ transport: api.transport }),
    kubeconfig,
    stop: async () => {
      await served.close();
      api.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});
