// How far V8 lets its heap grow before it collects. Left to itself it lets a controller that lists 100,000 objects grow
// to several times of what is in use, and keeps the pages: starts of the same controller differed by 110 MiB.
import { setFlagsFromString } from "node:v8";

/** Of what was in use after the last collection. Less is more work: see docs/performance.md. */
const growingPercent = 40;

/** Before anything is listed, and after the modules were loaded: V8's compiled code is found by the flags. */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
}
