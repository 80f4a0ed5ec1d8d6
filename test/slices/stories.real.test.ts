// Sliced networks on the real kube-apiserver.
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { volume, withFresh } from "../volume.ts";
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
    haste: 2,
    // The others are told on the embedded API; of these the server's own ways matter most.
    parts: volume(["changes", "kills", "churn"], ["changes", "losses", "tenants", "fencing", "kills", "churn"]),
    kills: volume(7, 15),
    rounds: volume(5, 10),
    seeds: volume([3], withFresh(3)),
  },
);
