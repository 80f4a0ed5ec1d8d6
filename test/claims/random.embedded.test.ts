// On the clock; what the seed alone decides is in random-seeded.embedded.test.ts. `npm run test:full` has 5,000 steps, in two files that run beside each other.
import { volume } from "../volume.ts";
import { randomEmbeddedServer } from "./random-embedded-server.ts";
import { randomRuns } from "./random-suite.ts";

randomRuns("embedded API", randomEmbeddedServer, { steps: volume(1500, 2500), servers: "fresh" });
