// The parts of claims that the daemon's commands use, put together once.
import type { DaemonOptions } from "../context.ts";
import type { SharedState } from "../shared-state.ts";
import { isClaimGone } from "./fence/fence-facts.ts";
import { ClaimHolds, type ClaimHoldsOptions } from "./hold/claim-holds.ts";
import { StatusWriter } from "./hold/status-writer.ts";
import { userReader } from "./hold/users.ts";
import { type ClaimSearchOptions, claimSearch } from "./resolve/find-claim.ts";

export interface ClaimContext {
  readonly find: ReturnType<typeof claimSearch>;
  readonly holds: ClaimHolds;
  readonly usersIn: ReturnType<typeof userReader>;
  /** To be run. */
  readonly statuses: StatusWriter;
  /** Empty, or in a sentence why no claim holds anything. */
  readonly obstacle: () => string;
}

interface ClaimAssemblyOptions
  extends
    Pick<DaemonOptions, "client" | "clock" | "log" | "node">,
    Pick<ClaimHoldsOptions, "ledgers" | "poolResolver">,
    Pick<ClaimSearchOptions, "waitMs"> {
  readonly state: Pick<SharedState, "claims" | "claimObstacle" | "paused">;
}

export function assembleClaims({ state, ...options }: ClaimAssemblyOptions): ClaimContext {
  const { client } = options;
  return {
    find: claimSearch({ ...options, state: () => state.claims }),
    holds: new ClaimHolds({
      ...options,
      paused: () => state.paused,
      isGone: (claim, signal) => isClaimGone(client, claim, signal),
    }),
    usersIn: userReader(client),
    statuses: new StatusWriter(options),
    obstacle: () => state.claimObstacle,
  };
}
