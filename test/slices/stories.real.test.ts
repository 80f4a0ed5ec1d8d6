// Sliced networks on the real kube-apiserver.
import { connect } from "../../src/kube/connect.ts";
import { loadKubeconfig } from "../../src/kube/kubeconfig.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { sliceStories } from "./suite.ts";

sliceStories(
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
    startMs: coldStartTimeoutMs,
    parts: ["changes", "losses", "tenants", "fencing", "kills", "churn"],
    kills: 15,
    rounds: 10,
    seeds: [3],
  },
);
