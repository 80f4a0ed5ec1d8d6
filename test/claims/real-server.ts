// The real kube-apiserver with the real controller-manager, whose garbage collection is part of the stories: it knows
// VMs, their instances and claims from the start.
import { claimDefinition } from "../../src/claims/crd.ts";
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { cluster } from "../lab/start.ts";
import type { Server } from "../node/fixture.ts";
import { kubevirtCrds } from "./kubevirt/crds.ts";

export async function realServer(): Promise<Server> {
  const lab = await cluster({ definitions: [...kubevirtCrds, claimDefinition()] });
  const connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
  return {
    transport: connection.transport,
    stop: async () => {
      await connection[Symbol.asyncDispose]();
      await lab.stop();
    },
  };
}
