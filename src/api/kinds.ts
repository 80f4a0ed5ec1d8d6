// Every kind that this system defines, in the order in which they are installed.
import { holdKind } from "./holds/hold.ts";
import { reservationKind } from "./holds/reservation.ts";
import type { Kind } from "./kind.ts";
import { ipPoolKind } from "./pools/ip-pool.ts";
import { nodeSlicePoolKind } from "./slices/node-slice-pool.ts";

export const kinds: readonly Kind[] = [ipPoolKind, reservationKind, nodeSlicePoolKind, holdKind];
