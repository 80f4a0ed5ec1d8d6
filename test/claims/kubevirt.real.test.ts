import { coldStartTimeoutMs } from "../lab/start.ts";
import { kubevirtStories } from "./kubevirt-suite.ts";
import { realServer } from "./real-server.ts";

kubevirtStories("kube-apiserver", realServer, coldStartTimeoutMs);
