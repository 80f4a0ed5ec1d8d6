// The commands about claims on the real kube-apiserver, with its garbage collection.
import { cluster } from "../lab/start.ts";
import { volume } from "../volume.ts";
import { cliSuite } from "./cli-suite.ts";

cliSuite(
  "the real kube-apiserver",
  async () => {
    const lab = await cluster();
    return { kubeconfig: lab.kubeconfig, stop: () => lab.stop() };
  },
  // The embedded API tells the others.
  volume(["claims, who, check"], undefined),
);
