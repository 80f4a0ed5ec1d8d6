// Every scenario that the lab can tell.
import { multichassis } from "./multichassis.ts";
import { away, back, postCopy, third } from "./routed.ts";
import type { Scenario } from "./scenario.ts";

export const scenarios: readonly Scenario[] = [away, back, third, postCopy, multichassis];
