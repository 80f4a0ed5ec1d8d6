// `holdfast slices release`, whole: the word, then the wait until the controller has removed the slices.
import { count } from "./count.ts";
import { fenceNode, type ReleaseOptions } from "./fence.ts";
import { awaitRemoval } from "./removal-watch.ts";

export interface ReleaseNodeOptions extends ReleaseOptions {
  /** Until the controller has removed them. */
  readonly wait: boolean;
  readonly timeoutMs: number;
  /** Name of the Lease under which a controller leads, in the system namespace. */
  readonly leaderLease: string;
}

/** Throws ReleaseError. */
export async function releaseNode(options: ReleaseNodeOptions): Promise<void> {
  const { node, dryRun, wait, say, systemNamespace: namespace, leaderLease: name } = options;
  const fenced = await fenceNode(options);
  if (dryRun) return say("Nothing was written: this was a dry run.");
  say(`Node ${node} is declared off, with ${count(fenced.length, "slice")}.`);
  if (!wait) return say("The controller removes its slices; holdfast slices shows when it has.");
  await awaitRemoval(fenced, { ...options, leader: { namespace, name } });
  say("Removed: what no pod holds of them is free for others.");
}
