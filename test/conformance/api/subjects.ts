// Everything that the suite looks at, in the order in which a reader would ask.
import { bookmarks } from "./cases/bookmarks.ts";
import { concurrency } from "./cases/concurrency.ts";
import { crud } from "./cases/crud.ts";
import { generation } from "./cases/generation.ts";
import { gone } from "./cases/gone.ts";
import { naming } from "./cases/naming.ts";
import { paging } from "./cases/paging.ts";
import { selectors } from "./cases/selectors.ts";
import { watching } from "./cases/watching.ts";
import type { Subject } from "./world.ts";

export const subjects: readonly Subject[] = [crud, naming, concurrency, generation, selectors, paging, watching, bookmarks, gone];
