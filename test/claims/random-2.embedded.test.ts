// Half of the 5000 steps on the clock: files run beside each other. What the seed alone decides is in random-seeded.embedded.test.ts.
import { randomEmbeddedServer } from "./random-embedded-server.ts";
import { randomRuns } from "./random-suite.ts";

randomRuns("embedded API", randomEmbeddedServer, { steps: 2500, servers: "fresh" });
