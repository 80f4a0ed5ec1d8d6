// Every scenario that the lab can tell.
import { failed } from "./failed.ts";
import { multichassis, secondary } from "./multichassis.ts";
import { nodeRemoved } from "./node-removed.ts";
import { northSouth } from "./north-south.ts";
import { policy } from "./policy.ts";
import { away, back, dualStack, ipv6, postCopy, third } from "./routed.ts";
import type { Scenario } from "./scenario.ts";
import { stopped } from "./stopped.ts";
import { twoAtOnce } from "./two-at-once.ts";

export const scenarios: readonly Scenario[] = [
  away,
  back,
  third,
  postCopy,
  failed,
  twoAtOnce,
  nodeRemoved,
  northSouth,
  dualStack,
  ipv6,
  policy,
  stopped,
  multichassis,
  secondary,
];
