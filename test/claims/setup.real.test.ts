// The way in and the way out, on the real kube-apiserver.
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { setupStories } from "./setup-suite.ts";

setupStories(
  "the real kube-apiserver",
  async () => {
    const lab = await cluster();
    const connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
    return {
      client: connection.client,
      stop: async () => {
        await connection[Symbol.asyncDispose]();
        await lab.stop();
      },
    };
  },
  coldStartTimeoutMs,
);
