// The runtime on the real kube-apiserver, with etcd behind it.
import { cluster } from "../../lab/start.ts";
import { kubeRuntimeSuite } from "./suite.ts";

kubeRuntimeSuite("the real kube-apiserver", async () => {
  const lab = await cluster();
  return {
    kubeconfig: lab.kubeconfig,
    restart: () => lab.apiserver.restart(),
    // The server answers from its own memory until it starts anew.
    compact: async () => {
      await lab.compact();
      await lab.apiserver.restart();
    },
    stop: () => lab.stop(),
  };
});
