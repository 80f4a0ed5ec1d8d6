// `holdfast slices`, put together: a connection, one snapshot, and what is asked of it.
import { hostname, userInfo } from "node:os";

import type { ListSlices, ReleaseRequest, ReleaseSlices } from "../src/cli/slices.ts";
import { UsageError } from "../src/cli/usage-error.ts";
import { realClock } from "../src/kube/clock.ts";
import { fenceNode } from "../src/slices/fence.ts";
import { ReleaseError } from "../src/slices/release-error.ts";
import { awaitRemoval } from "../src/slices/removal-watch.ts";
import { readSlices } from "../src/slices/snapshot.ts";
import { rangeTables } from "../src/slices/table.ts";
import { connected } from "./connected.ts";
import { leaseName } from "./controller.ts";

export const list: ListSlices = (options) =>
  connected(options, async (client, signal) => {
    const { systemNamespace, node } = options;
    return rangeTables(
      await readSlices({ client, systemNamespace, now: Date.now, signal, ...(node && { node }) }),
      options,
    );
  });

export const release: ReleaseSlices = (request, output) =>
  connected(request, async (client, signal) => {
    const common = { client, clock: realClock, signal, say: (line: string) => output.line(line) };
    await told(async () => {
      const fenced = await fenceNode({ ...request, ...common, by: operator() });
      if (request.dryRun) return output.line("Nothing was written: this was a dry run.");
      output.line(`${fenced.length} slices of node ${request.node} are fenced.`);
      if (!request.wait) return output.line("The controller removes them; holdfast slices shows when it has.");
      await awaitRemoval(fenced, { ...common, timeoutMs: request.timeoutMs, leader: leaderOf(request) });
      output.line(`All slices of node ${request.node} are removed: their addresses are free for others.`);
    });
  });

function leaderOf({ systemNamespace }: ReleaseRequest) {
  return { namespace: systemNamespace, name: leaseName };
}

/** For people who read the object later. Whom the server took it from stands in its audit log. */
function operator(): string {
  return `${userInfo().username}@${hostname()}`;
}

async function told(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ReleaseError) throw new UsageError(error.message, 1, { cause: error });
    throw error;
  }
}
