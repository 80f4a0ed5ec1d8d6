// Shared pools on the real kube-apiserver.
import { cluster } from "../lab/start.ts";
import { poolsSuite } from "./suite.ts";

poolsSuite("the real kube-apiserver", async () => {
  const lab = await cluster();
  return { kubeconfig: lab.kubeconfig, stop: () => lab.stop() };
});
