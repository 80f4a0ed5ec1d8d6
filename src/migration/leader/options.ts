// What the reconciler of live migration is given.
import type { ReconcilerOptions } from "../../cluster/reconciler-options.ts";
import type { Move } from "../neighbours/announcements.ts";
import type { MigrationMetrics } from "../receipts/metrics.ts";
import type { Receipt } from "../receipts/receipt.ts";
import type { AddressSource, PlacementWriter, Zones } from "./placement-writer.ts";

export interface MigrationOptions extends Pick<
  ReconcilerOptions,
  "client" | "clock" | "log" | "systemNamespace" | "nodes" | "events" | "kubeMetrics"
> {
  readonly writer: PlacementWriter;
  readonly zones: Zones;
  /** Default: none; the first pod of a VM's life gets its addresses from whoever attaches it. */
  readonly addresses?: AddressSource;
  /**
   * One process of a cluster writes what is to be on record: annotations, receipts, events. A daemon that writes the
   * rows of its own zone does not. Default: this one.
   */
  readonly keepsRecords?: boolean;
  /** Told when the rows of a move are written: neighbours are to be told now. It must not throw. */
  readonly onMove?: (move: Move) => void;
  /** The longest silence of a migrating VM, by the UID of its target, where somebody has measured it. */
  readonly gapMsOf?: (targetUid: string) => number | undefined;
  readonly onReceipt?: (receipt: Receipt) => void;
  readonly metrics?: MigrationMetrics;
  /** Where OVN-Kubernetes is looked for. Only administrators may write there. */
  readonly ovnkubeNamespaces?: readonly string[];
  readonly lookEveryMs?: number;
}
