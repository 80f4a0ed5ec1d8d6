// On the real API server, with the real garbage collection.
import { coldStartTimeoutMs } from "../lab/start.ts";
import { volume } from "../volume.ts";
import { randomRuns } from "./random-suite.ts";
import { realServer } from "./real-server.ts";

randomRuns("kube-apiserver", realServer, {
  steps: volume(175, 1000),
  stepsPerRun: volume(175, 250),
  servers: "one",
  startMs: coldStartTimeoutMs,
});
