// Daemons and claims on the real kube-apiserver, whose garbage collector runs beside them.
import { coldStartTimeoutMs } from "../lab/start.ts";
import { volume } from "../volume.ts";
import { claimStories } from "./daemon/suite.ts";
import { realServer } from "./real-server.ts";

claimStories("kube-apiserver", realServer, {
  timeoutMs: coldStartTimeoutMs,
  // The embedded API tells all of them.
  parts: volume(["the life of an address", "outages"], undefined),
});
