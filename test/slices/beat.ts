// A Lease renewed all the time, as by a controller's elector: whoever listens for silent nodes hears that it can hear.
import { leases } from "../../src/cluster/resources.ts";
import { realClock, sleep } from "../../src/kube/clock.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { KubeClient } from "../../src/kube/rest.ts";

/** Until the signal aborts. */
export async function beat(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const name = "beat";
  for (let count = 0; !signal.aborted; count++) {
    const spec = { holderIdentity: `beat-${count}-${Date.now()}` };
    await client
      .patch(leases, { namespace, name }, { type: "merge", body: { spec } }, { signal })
      .catch((error: unknown) => {
        if (!isApiError(error, "not-found")) throw error;
        return client.create(leases, { metadata: { namespace, name }, spec }, { signal });
      })
      .catch(() => {}); // the line is cut, or another was faster
    await sleep(realClock, 200, signal);
  }
}
