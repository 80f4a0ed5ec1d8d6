// Everything that the suite looks at, in the order in which a reader would ask.
import { applyLists } from "./cases/apply-lists.ts";
import { serverSideApply } from "./cases/apply.ts";
import { auth } from "./cases/auth.ts";
import { bookmarks } from "./cases/bookmarks.ts";
import { chart } from "./cases/chart.ts";
import { collecting } from "./cases/collection.ts";
import { concurrency } from "./cases/concurrency.ts";
import { configMaps } from "./cases/config-maps.ts";
import { crud } from "./cases/crud.ts";
import { defaulting } from "./cases/defaulting.ts";
import { defining } from "./cases/definitions.ts";
import { deletion } from "./cases/deletion.ts";
import { discovery } from "./cases/discovery.ts";
import { dryRuns } from "./cases/dry-run.ts";
import { errors } from "./cases/errors.ts";
import { events } from "./cases/events.ts";
import { fieldManagers } from "./cases/field-managers.ts";
import { finalizing } from "./cases/finalizers.ts";
import { generation } from "./cases/generation.ts";
import { gone } from "./cases/gone.ts";
import { jsonPatches } from "./cases/json-patch.ts";
import { leases } from "./cases/leases.ts";
import { limits } from "./cases/limits.ts";
import { mergePatches } from "./cases/merge-patch.ts";
import { namespaces } from "./cases/namespaces.ts";
import { naming } from "./cases/naming.ts";
import { nodes } from "./cases/nodes.ts";
import { openApi } from "./cases/openapi.ts";
import { paging } from "./cases/paging.ts";
import { pods } from "./cases/pods.ts";
import { pruning } from "./cases/pruning.ts";
import { rules } from "./cases/rules.ts";
import { schemas } from "./cases/schema.ts";
import { secrets } from "./cases/secrets.ts";
import { selectors } from "./cases/selectors.ts";
import { strategic } from "./cases/strategic.ts";
import { tables } from "./cases/tables.ts";
import { values } from "./cases/values.ts";
import { versions } from "./cases/versions.ts";
import { warnings } from "./cases/warnings.ts";
import { watching } from "./cases/watching.ts";
import { webhookRules } from "./cases/webhook-rules.ts";
import { webhooks } from "./cases/webhooks.ts";
import type { Subject } from "./fixture.ts";

export const subjects: readonly Subject[] = [
  crud,
  naming,
  concurrency,
  generation,
  selectors,
  paging,
  watching,
  bookmarks,
  gone,
  jsonPatches,
  mergePatches,
  strategic,
  serverSideApply,
  applyLists,
  fieldManagers,
  deletion,
  finalizing,
  collecting,
  namespaces,
  defining,
  schemas,
  rules,
  defaulting,
  pruning,
  versions,
  tables,
  discovery,
  openApi,
  webhooks,
  webhookRules,
  leases,
  events,
  pods,
  nodes,
  secrets,
  configMaps,
  dryRuns,
  errors,
  values,
  auth,
  limits,
  warnings,
  chart,
];
