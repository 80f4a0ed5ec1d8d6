// Every row of the state machine on the real API server, where the real controller-manager collects garbage. (The row in which validation has its say is in
// webhook.real.test.ts.)
import { coldStartTimeoutMs } from "../lab/start.ts";
import { realServer } from "./real-server.ts";
import { copies } from "./stories/outcomes.ts";
import { rowStories } from "./stories/rows.ts";
import { onServer } from "./stories/suite.ts";

onServer("rows on the real API server", realServer, coldStartTimeoutMs, [...rowStories, copies]);
