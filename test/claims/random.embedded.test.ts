// On the clock; by the seed alone: random-seeded.embedded.test.ts. `npm run test:full`: 5,000 steps, two files at once.
import { volume } from "../volume.ts";
import { randomEmbeddedServer } from "./random-embedded-server.ts";
import { randomRuns } from "./random-suite.ts";

randomRuns("embedded API", randomEmbeddedServer, {
  steps: volume(700, 2500),
  stepsPerRun: volume(350, 500),
  servers: "fresh",
});
