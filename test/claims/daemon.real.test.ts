// Daemons and claims on the real kube-apiserver, whose garbage collector runs beside them.
import { coldStartTimeoutMs } from "../lab/start.ts";
import { claimStories } from "./daemon/suite.ts";
import { realServer } from "./real-server.ts";

claimStories("kube-apiserver", realServer, coldStartTimeoutMs);
