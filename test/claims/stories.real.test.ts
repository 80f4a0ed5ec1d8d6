// Every row of the state machine on the real API server, where the real controller-manager collects garbage. (The row in which validation has its say is in
// webhook.real.test.ts.)
import { coldStartTimeoutMs } from "../lab/start.ts";
import { realServer } from "./real-server.ts";
import { deletedClaims, handMadeClaims } from "./stories/claims-by-users.ts";
import { deleting, letting, orphaning, recreating } from "./stories/deleting.ts";
import { appearing, attaching, migrating } from "./stories/life.ts";
import { copies } from "./stories/outcomes.ts";
import { plugging, unplugging } from "./stories/plugging.ts";
import { refusing } from "./stories/refusing.ts";
import { changedDefinitions, restarting, resting, restoring } from "./stories/standing.ts";
import { onServer } from "./stories/suite.ts";

onServer("rows on the real API server", realServer, coldStartTimeoutMs, [
  appearing,
  attaching,
  migrating,
  plugging,
  unplugging,
  refusing,
  deleting,
  orphaning,
  recreating,
  letting,
  deletedClaims,
  handMadeClaims,
  changedDefinitions,
  restarting,
  restoring,
  resting,
  copies,
]);
