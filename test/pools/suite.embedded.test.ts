// Shared pools on the embedded API, over TLS.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openApi } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";
import { volume } from "../volume.ts";
import { poolsSuite } from "./suite.ts";

poolsSuite(
  "the embedded API",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-pools-"));
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
  },
  // The controller as a process is told on the real API server.
  volume(["pools", "state", "check", "slices", "leak collection"], undefined),
);
