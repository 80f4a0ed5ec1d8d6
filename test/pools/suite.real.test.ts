// Shared pools on the real kube-apiserver.
import { cluster } from "../lab/start.ts";
import { volume } from "../volume.ts";
import { poolsSuite } from "./suite.ts";

poolsSuite(
  "the real kube-apiserver",
  async () => {
    const lab = await cluster();
    return { kubeconfig: lab.kubeconfig, stop: () => lab.stop() };
  },
  // The embedded API tells the others.
  volume(["pools", "leak collection", "the controller"], undefined),
);
