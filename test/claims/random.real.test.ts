// On the real API server, with the real garbage collection.
import { coldStartTimeoutMs } from "../lab/start.ts";
import { randomRuns } from "./random-suite.ts";
import { realServer } from "./real-server.ts";

randomRuns("kube-apiserver", realServer, {
  steps: 1000,
  stepsPerRun: 250,
  servers: "one",
  startMs: coldStartTimeoutMs,
});
