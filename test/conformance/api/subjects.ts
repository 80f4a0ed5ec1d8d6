// Everything that the suite looks at, in the order in which a reader would ask.
import { serverSideApply } from "./cases/apply.ts";
import { bookmarks } from "./cases/bookmarks.ts";
import { collecting } from "./cases/collection.ts";
import { concurrency } from "./cases/concurrency.ts";
import { crud } from "./cases/crud.ts";
import { deletion } from "./cases/deletion.ts";
import { fieldManagers } from "./cases/field-managers.ts";
import { finalizing } from "./cases/finalizers.ts";
import { generation } from "./cases/generation.ts";
import { gone } from "./cases/gone.ts";
import { jsonPatches } from "./cases/json-patch.ts";
import { mergePatches } from "./cases/merge-patch.ts";
import { namespaces } from "./cases/namespaces.ts";
import { naming } from "./cases/naming.ts";
import { paging } from "./cases/paging.ts";
import { selectors } from "./cases/selectors.ts";
import { strategic } from "./cases/strategic.ts";
import { watching } from "./cases/watching.ts";
import type { Subject } from "./world.ts";

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
  fieldManagers,
  deletion,
  finalizing,
  collecting,
  namespaces,
];
