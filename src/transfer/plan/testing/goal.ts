// A goal that asks for nothing but a destination.
import { poolNamings } from "../../../api/pools/pool-name.ts";
import type { Goal } from "../goal.ts";

export const plainGoal: Omit<Goal, "to"> = {
  naming: poolNamings[0],
  names: new Map(),
  keepNames: false,
  pools: new Map(),
  only: new Set(),
  allowSplit: false,
};
