// A quarter of the 10,000 steps: files run beside each other.
import { randomEmbeddedServer } from "./random-embedded-server.ts";
import { randomRuns } from "./random-suite.ts";

randomRuns("embedded API", randomEmbeddedServer, { steps: 2500, servers: "fresh" });
