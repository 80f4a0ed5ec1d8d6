// The runtime on the embedded API, over TLS, with restarts on the same file and port.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openApi } from "../../../src/apiserver/api.ts";
import { serve } from "../../../src/apiserver/serve/server.ts";
import { kubeRuntimeSuite } from "./suite.ts";

kubeRuntimeSuite("the embedded API", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-runtime-"));
  const kubeconfig = join(folder, "kubeconfig");
  const start = async (port: number) => {
    const api = openApi({ path: join(folder, "api.sqlite") });
    return { api, served: await serve(api, { port, kubeconfigPath: kubeconfig }) };
  };
  let running = await start(0);
  const port = Number(new URL(running.served.url).port);
  const stop = async () => {
    await running.served.close();
    running.api.close();
  };
  return {
    kubeconfig,
    restart: async () => {
      await stop();
      running = await start(port);
    },
    compact: async () => running.api.compact(),
    stop: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});
