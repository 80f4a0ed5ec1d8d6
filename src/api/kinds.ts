// Every kind that this system defines, in the order in which they are installed.
import { holdKind } from "./hold.ts";
import { ipPoolKind } from "./ip-pool.ts";
import type { Kind } from "./kind.ts";
import { nodeSlicePoolKind } from "./node-slice-pool.ts";
import { reservationKind } from "./reservation.ts";

export const kinds: readonly Kind[] = [ipPoolKind, reservationKind, nodeSlicePoolKind, holdKind];
