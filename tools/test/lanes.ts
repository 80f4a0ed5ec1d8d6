// Which suites run beside which, and how many of their files at once.
//
// Lanes run at once, each group by group. Most suites wait most of the time, each for something else: beside each other
// they keep the cores busy until the end, and no lane is much longer than the others. Where memory is short, fewer do.
import type { Suite } from "./suites.ts";

export interface Machine {
  readonly cores: number;
  readonly memoryBytes: number;
}

type Group = Suite["at"];

/** At most: five control planes and six nodes with their pods 7 GiB, workers and their vitest 6, files in memory 3. */
const roomyBytes = 18 * 2 ** 30;

export function lanesFor({ memoryBytes }: Machine): readonly (readonly Group[])[] {
  if (memoryBytes >= roomyBytes) return [["together", "crowd"], ["few"], ["nodes"], ["programs"]];
  return [
    ["together", "crowd", "few"],
    ["nodes", "programs"],
  ];
}

/** Flags for vitest. */
export function flagsFor(group: Group, { cores }: Pick<Machine, "cores">): readonly string[] {
  const limits: Record<Group, readonly string[]> = {
    // Files of one worker share its modules: loading them anew for each file took longer than most of the tests in it.
    together: ["--no-isolate", `--maxWorkers=${cores}`],
    crowd: ["--no-isolate", "--maxWorkers=4"],
    // The cases of one file that run side by side wait for the API server and its controllers.
    few: ["--no-isolate", "--maxWorkers=2", "--maxConcurrency=8"],
    nodes: ["--maxWorkers=2"],
    programs: ["--maxWorkers=1"],
  };
  // Room for what lives for a moment: a tenth of the processor time of tests that compute went into collecting it.
  return [...limits[group], "--execArgv=--max-semi-space-size=32"];
}
