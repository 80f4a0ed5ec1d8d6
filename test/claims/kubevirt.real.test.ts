import { coldStartTimeoutMs } from "../lab/start.ts";
import { volume } from "../volume.ts";
import { kubevirtStories } from "./kubevirt-suite.ts";
import { realServer } from "./real-server.ts";

kubevirtStories("kube-apiserver", realServer, coldStartTimeoutMs, volume(true, false));
