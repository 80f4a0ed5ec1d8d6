// Ours, ready to be measured: the daemon of one node and, unless left out, the leader, each a process with its own account.
import { join } from "node:path";

import { until } from "../../test/lab/wait.ts";
import { freePort } from "../../test/lab/port.ts";
import { ensureShim } from "../../tools/shim/build.ts";
import { type HoldfastProcess, startController, startDaemon } from "./daemon.ts";
import type { BenchLab } from "./lab.ts";
import { makeIdentities, makeNodes, nodeNames } from "./population.ts";

export interface StageOptions {
  readonly controller: boolean;
}

export class Stage implements AsyncDisposable {
  readonly node: string;
  readonly socket: string;
  /** The native shim. */
  readonly shim: string;
  readonly processes: readonly HoldfastProcess[];
}
