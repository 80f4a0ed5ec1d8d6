// What the commands of the daemon use of claims. Put together once, in assembly.ts.
import type { ClaimHolds } from "./holds.ts";
import type { ClaimSearch } from "./search.ts";
import type { StatusWriter } from "./status-writer.ts";
import type { UserPods } from "./users.ts";

export interface ClaimParts {
  readonly search: Pick<ClaimSearch, "find">;
  readonly holds: ClaimHolds;
  readonly users: UserPods;
  readonly statuses: Pick<StatusWriter, "write" | "settle">;
  /** Whether whereabouts is active: then no claim holds anything. */
  readonly coexistence: () => boolean;
}
