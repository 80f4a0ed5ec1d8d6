// The main rows of the state machine on the real API server, where the real controller-manager collects garbage.
import { coldStartTimeoutMs } from "../lab/start.ts";
import { realServer } from "./real-server.ts";
import { deleting, letting, orphaning, recreating } from "./stories/deleting.ts";
import { appearing, attaching, migrating } from "./stories/life.ts";
import { plugging, unplugging } from "./stories/plugging.ts";
import { onServer } from "./stories/suite.ts";

onServer("rows on the real API server", realServer, coldStartTimeoutMs, [
  appearing,
  attaching,
  migrating,
  plugging,
  unplugging,
  deleting,
  orphaning,
  recreating,
  letting,
]);
