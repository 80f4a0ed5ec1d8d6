// What the commands of the daemon use of claims, put together once.
import type { Clock } from "../../kube/clock.ts";
import type { KubeClient } from "../../kube/rest.ts";
import type { Log } from "../../log/log.ts";
import type { Ledgers } from "../pools/ledgers.ts";
import type { PoolResolver } from "../pools/pool-resolver.ts";
import type { SharedState } from "../shared-state.ts";
import { isClaimGone, serverFacts } from "./fence/fence-facts.ts";
import { Fence, type FenceOptions } from "./fence/fence.ts";
import { ClaimHolds } from "./hold/claim-holds.ts";
import { StatusWriter } from "./hold/status-writer.ts";
import { UserPods } from "./hold/users.ts";
import { ClaimSearch } from "./resolve/find-claim.ts";

export interface ClaimContext {
  readonly search: Pick<ClaimSearch, "find">;
  readonly holds: ClaimHolds;
  readonly users: UserPods;
  readonly statuses: Pick<StatusWriter, "write" | "settle">;
  /** Empty, or in a sentence why no claim holds anything. */
  readonly obstacle: () => string;
}

export interface ClaimAssembly {
  readonly parts: ClaimContext;
  /** To be run. */
  readonly statuses: StatusWriter;
  /** To be run. */
  readonly fence: Fence | undefined;
}

export function assembleClaims(options: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
  readonly state: Pick<SharedState, "claims" | "claimObstacle" | "paused">;
  readonly ledgers: Ledgers;
  readonly poolResolver: PoolResolver;
  /** How long an ADD waits for its claim. Default: 25 s. */
  readonly waitMs?: number | undefined;
  /** Absent: nobody is fenced. */
  readonly fence?: Omit<FenceOptions, "facts" | "clock" | "log"> | undefined;
}): ClaimAssembly {
  const { client, clock, log, state } = options;
  const statuses = new StatusWriter({ client, clock, log });
  const fence = options.fence && new Fence({ ...options.fence, facts: serverFacts(client), clock, log });
  const holds = new ClaimHolds({
    ...options,
    paused: () => state.paused,
    isGone: (claim, signal) => isClaimGone(client, claim, signal),
  });
  const search = new ClaimSearch({ ...options, state: () => state.claims });
  const parts = { search, holds, users: new UserPods(client), statuses, obstacle: () => state.claimObstacle };
  return { parts, statuses, fence };
}
