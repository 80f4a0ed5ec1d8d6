import { relative } from "node:path";

import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

import { readTimes, slowFirst } from "./tools/test/times.ts";

const root = import.meta.dirname;

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = readTimes(root);
    return slowFirst(await super.sort(files), ({ moduleId }) => times.get(relative(root, moduleId)));
  }
}

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "tools/**/*.test.ts", "bench/**/*.test.ts"],
    // Generous, because a machine may be busy: speed is measured in bench/, never asserted in a test.
    testTimeout: 180_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    sequence: { sequencer: SlowFirst },
  },
});
