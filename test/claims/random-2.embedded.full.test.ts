// The other half of the 5,000 steps on the clock.
import { randomEmbeddedServer } from "./random-embedded-server.ts";
import { randomRuns } from "./random-suite.ts";

randomRuns("embedded API", randomEmbeddedServer, { steps: 2500, servers: "fresh" });
