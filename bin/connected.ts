// One look at a cluster: a connection, a signal that Ctrl-C aborts, and what the server refuses told in a sentence.
import { type ConnectionOptions, connectTo } from "../src/cli/connection.ts";
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
    if (error instanceof ApiError) throw new UsageError(error.message, 1, { cause: error });
    throw error;
  }
}
