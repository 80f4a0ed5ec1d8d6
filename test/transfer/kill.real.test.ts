// Migrations killed with -9 on the real kube-apiserver, whose policies are the fence.
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { cluster } from "../lab/start.ts";
import { killSuite } from "./kill-suite.ts";

killSuite("kube-apiserver", async () => {
  const lab = await cluster();
  const connection = connect(await loadKubeconfig({ path: lab.kubeconfig }), { userAgent: "holdfast migrate test" });
  return {
    client: connection.client,
    kubeconfig: lab.kubeconfig,
    stop: async () => {
      await connection[Symbol.asyncDispose]();
      await lab.stop();
    },
  };
});
