// One look at a cluster: a connection, a signal that Ctrl-C aborts, and what the server or we refuse told in a sentence.
import { ReleaseError } from "../src/check/slices/release.ts";
import { ClaimsError } from "../src/claims/moves/claims-error.ts";
import type { ConnectionOptions } from "../src/cli/cluster-command.ts";
import { connectTo } from "../src/cli/connection.ts";
import { UsageError } from "../src/cli/usage-error.ts";
import { ApiError } from "../src/kube/errors.ts";
import type { KubeClient } from "../src/kube/rest.ts";

export async function connected<T>(
  options: ConnectionOptions,
  look: (client: KubeClient, signal: AbortSignal) => Promise<T>,
) {
  await using connection = await connectTo(options, "holdfast");
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort(new Error("called off")));
  try {
    return await look(connection.client, stop.signal);
  } catch (error) {
    if (error instanceof ApiError && error.code === "not-found") {
      const remedy =
        "the cluster does not have all of our kinds: kubectl apply -f deploy/holdfast.yaml, then ask again.";
      throw new UsageError(`${error.message} ${remedy}`, 1, { cause: error });
    }
    const isTold = error instanceof ApiError || error instanceof ClaimsError || error instanceof ReleaseError;
    throw isTold ? new UsageError(error.message, 1, { cause: error }) : error;
  }
}
