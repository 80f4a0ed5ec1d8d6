// The seams to whoever writes northbound databases, tells neighbours, and hands out addresses.
import type { PodNetwork } from "../../cluster/pod-network.ts";
import type { ObjectKey } from "../../kube/meta.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { VmPlacement } from "../../ovn/vm/placement.ts";
import type { Launcher } from "../objects/launcher.ts";

/** What is to be in a zone of each of these VMs, whole; `gone`: nothing. VMs that are not named keep what they have. */
export type Placements = ReadonlyMap<ObjectKey, VmPlacement | "gone">;

/** VMs that run, and where; undefined: that cannot be said yet, and what is there of it stays. */
export type KnownVms = ReadonlyMap<ObjectKey, VmPlacement | undefined>;

export interface PlacementWriter {
  /** Resolves when all of it is in the zone's northbound database: in one transaction, or in none. */
  write(zone: string, placements: Placements, signal: AbortSignal): Promise<void>;
  /**
   * Removes what is there of VMs that are not among these; called before the first `write` to a zone. Rows of a VM may
   * depend on where others are: from here on all of them are known.
   */
  sweep(zone: string, known: KnownVms, signal: AbortSignal): Promise<void>;
  /** Resolves when the zone can be written; a sweep says where VMs are by then. Default: it can. */
  ready?(zone: string, signal: AbortSignal): Promise<void>;
  /** Where VMs are is not known any more: another may have written. A sweep comes next. */
  forget?(zone: string): void;
}

/** Which northbound databases this process writes: one, one of each node, or that of its own node. */
export interface Zones {
  /** Undefined: not this process's. */
  of(node: string): string | undefined;
  all(): readonly string[];
}

/** Where the first pod of a VM's life gets its addresses from. */
export interface AddressSource {
  /** Undefined: somebody else gives it one, or there is none now. `subnets`: of the pod's node. */
  take(pod: Launcher, subnets: readonly Prefix[], signal: AbortSignal): Promise<PodNetwork | undefined>;
}

/** Somebody else writes the rows. */
export const noZones: Zones = { of: () => undefined, all: () => [] };
export const noRows: PlacementWriter = { write: async () => {}, sweep: async () => {} };

/** This process writes one of several: that of its own node. */
export const ownZone = (node: string): Zones => ({
  of: (each) => (each === node ? node : undefined),
  all: () => [node],
});

export const oneZone = (name = "global"): Zones => ({ of: () => name, all: () => [name] });
