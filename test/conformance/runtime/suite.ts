// The runtime of src/kube against a server: what no server in memory can show. Independent of which server it is.
import { afterAll, beforeAll, describe } from "vitest";

import { type RuntimeServer, Fixture } from "./fixture.ts";
import { informerTests } from "./informers.ts";
import { processTests } from "./processes.ts";
import { writeTests } from "./writes.ts";

export function kubeRuntimeSuite(name: string, start: () => Promise<RuntimeServer>): void {
  describe(`the runtime on ${name}`, () => {
    const fixture = new Fixture();
    beforeAll(() => fixture.open(start));
    afterAll(() => fixture.close());
    informerTests(fixture);
    writeTests(fixture);
    processTests(fixture);
  });
}
