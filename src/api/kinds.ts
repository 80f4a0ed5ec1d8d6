// Every kind that this system defines, in the order in which they are installed.
import { holdKind } from "./holds/hold.ts";
import { reservationKind } from "./holds/reservation.ts";
import type { Kind } from "./kind.ts";
import { ipPoolKind } from "./pools/ip-pool.ts";
import { nodeSlicePoolKind } from "./slices/node-slice-pool.ts";
import { managedPoolKind } from "./vmnet/managed-pool.ts";
import { networkConfigKind } from "./vmnet/network-config.ts";

export const kinds: readonly Kind[] = [ipPoolKind, reservationKind, nodeSlicePoolKind, holdKind];

/** Those of managed DHCP, a choice of its own: a cluster of Harvester has them already, in Harvester's words. */
export const managedDhcpKinds: readonly Kind[] = [managedPoolKind, networkConfigKind];
