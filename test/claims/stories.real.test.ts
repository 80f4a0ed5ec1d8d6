// Every row of the state machine on the real API server, where the real controller-manager collects garbage. (The row
// in which validation has its say is in webhook.real.test.ts.)
import { coldStartTimeoutMs } from "../lab/start.ts";
import { volume } from "../volume.ts";
import { realServer } from "./real-server.ts";
import { deletedClaims } from "./stories/claims-by-users.ts";
import { deleting, letting, orphaning, recreating } from "./stories/deleting.ts";
import { migrating } from "./stories/life.ts";
import { copies } from "./stories/outcomes.ts";
import { rowStories } from "./stories/rows.ts";
import { restoring } from "./stories/standing.ts";
import { onServer } from "./stories/suite.ts";

/** What the real garbage collection has a part in; the embedded API tells all of them. */
const collected = [deleting, orphaning, recreating, letting, deletedClaims, restoring, migrating];

onServer("rows on the real API server", realServer, coldStartTimeoutMs, volume(collected, [...rowStories, copies]));
