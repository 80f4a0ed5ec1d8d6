// The runtime of src/kube against a server: what no server in memory can show. Independent of which server it is.
import { afterAll, beforeAll, describe } from "vitest";

import { informerTests } from "./informers.ts";
import { processTests } from "./processes.ts";
import { type RuntimeServer, World } from "./world.ts";
import { writeTests } from "./writes.ts";

export function kubeRuntimeSuite(name: string, start: () => Promise<RuntimeServer>): void {
  describe(`the runtime on ${name}`, () => {
    const world = new World();
    beforeAll(() => world.open(start));
    afterAll(() => world.close());
    informerTests(world);
    writeTests(world);
    processTests(world);
  });
}
