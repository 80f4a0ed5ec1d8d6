// The real kube-apiserver with the real controller-manager, whose garbage collection is part of the stories.
import { connect } from "../../src/kube/connect.ts";
import { loadKubeconfig } from "../../src/kube/kubeconfig.ts";
import { cluster } from "../lab/start.ts";
import type { Server } from "../node/world.ts";

/**
 * HTTP/1.1 only. A run that kills its controllers and daemons ends dozens of streams of one HTTP/2 connection in the same moment, and Node's
 * HTTP/2 (24.21) then now and then never comes back from sending the resets: a loop in native code that eats memory.
 */
const apiserverArgs = ["--disable-http2-serving"];

export async function realServer(): Promise<Server> {
  const lab = await cluster({ apiserverArgs });
  const connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
  return {
    transport: connection.transport,
    stop: async () => {
      await connection[Symbol.asyncDispose]();
      await lab.stop();
    },
  };
}
