// `holdfast slices`, put together: a connection, one snapshot, and what is asked of it.
import { hostname, userInfo } from "node:os";

import { releaseNode } from "../src/check/slices/release-node.ts";
import { readSlices } from "../src/check/slices/snapshot.ts";
import { rangeTables } from "../src/check/slices/table.ts";
import { connected } from "../src/cli/connection.ts";
import type { ListSlices, ReleaseSlices } from "../src/cli/slices.ts";
import { realClock } from "../src/kube/clock.ts";

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
    const say = (line: string) => output.line(line);
    const common = { client, clock: realClock, by: operator(), signal, say };
    await releaseNode({ ...request, ...common });
  });

/** For people who read the object later. Whom the server took it from stands in its audit log. */
function operator(): string {
  return `${userInfo().username}@${hostname()}`;
}
