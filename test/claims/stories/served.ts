// The embedded API in this process, and served as by `holdfast up`, so that a person can run commands against it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openApi } from "../../../src/apiserver/api.ts";
import { serve } from "../../../src/apiserver/serve/server.ts";
import type { Server } from "../../node/fixture.ts";
import { command } from "../../pools/command.ts";

export interface ServedServer extends Server {
  /** `holdfast ARGV`, with this server's kubeconfig. */
  readonly run: (...argv: string[]) => ReturnType<typeof command>;
}

export async function servedServer(): Promise<ServedServer> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-stories-"));
  const kubeconfig = join(folder, "kubeconfig");
  const api = openApi({ path: ":memory:" });
  const served = await serve(api, { port: 0, kubeconfigPath: kubeconfig });
  return {
    transport: api.transport,
    run: (...argv) => command(...argv, "--kubeconfig", kubeconfig),
    stop: async () => {
      await served.close();
      api.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
