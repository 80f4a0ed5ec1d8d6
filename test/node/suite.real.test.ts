// The daemon on the real kube-apiserver.
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { volume } from "../volume.ts";
import { nodeStories } from "./suite.ts";

nodeStories(
  "kube-apiserver",
  async () => {
    const lab = await cluster();
    const connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
    return {
      transport: connection.transport,
      stop: async () => {
        await connection[Symbol.asyncDispose]();
        await lab.stop();
      },
    };
  },
  {
    timeoutMs: coldStartTimeoutMs,
    // The embedded API tells all of them.
    parts: volume(
      ["networks", "what whereabouts gave", "beside whereabouts", "quotas", "many at once", "static addresses"],
      undefined,
    ),
  },
);
