// The real kube-apiserver with the real garbage collection, which knows VMs and managed DHCP's kinds from the start.
import { definitionOf } from "../../src/api/definition.ts";
import { managedDhcpKinds } from "../../src/api/kinds.ts";
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { kubevirtCrds } from "../claims/kubevirt/crds.ts";
import { cluster } from "../lab/start.ts";
import type { Server } from "../node/fixture.ts";

export async function realServer(): Promise<Server> {
  const lab = await cluster({ definitions: [...kubevirtCrds, ...managedDhcpKinds.map(definitionOf)] });
  const connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
  return {
    transport: connection.transport,
    stop: async () => {
      await connection[Symbol.asyncDispose]();
      await lab.stop();
    },
  };
}
