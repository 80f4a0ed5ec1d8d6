// The stories of every row of a claim's state machine, for any API server. The row with validation needs the webhooks:
// stories-rows-validating.embedded.test.ts, and on the real server webhook-deletions.ts.
import { deletedClaims, handMadeClaims } from "./claims-by-users.ts";
import { deleting, letting, orphaning, recreating } from "./deleting.ts";
import { appearing, attaching, migrating } from "./life.ts";
import { plugging, unplugging } from "./plugging.ts";
import { refusing } from "./refusing.ts";
import { changedDefinitions, restarting, resting, restoring } from "./standing.ts";
import type { Part } from "./suite.ts";

export const rowStories: readonly Part[] = [
  appearing,
  attaching,
  migrating,
  plugging,
  unplugging,
  refusing,
  deleting,
  orphaning,
  recreating,
  letting,
  deletedClaims,
  handMadeClaims,
  changedDefinitions,
  restarting,
  restoring,
  resting,
];
