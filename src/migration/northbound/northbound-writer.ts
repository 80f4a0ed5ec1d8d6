// The rows of VMs in northbound databases: what the reconciler says of a VM, written by src/ovn.
//
// Promised: a write or a sweep is one transaction of its zone, or none. Where OVN knows no prefixes in arp_proxy a
// node's router port lists addresses, and one VM's move changes other nodes' too: so where every VM is, is kept here.
import type { ObjectKey } from "../../kube/meta.ts";
import { parseKey } from "../../kube/meta.ts";
import { desiredOf, type Scope } from "../../ovn/desired.ts";
import type { Applied, Northbound } from "../../ovn/northbound.ts";
import { printVm, type VmName } from "../../ovn/rows/marks.ts";
import type { VmPlacement } from "../../ovn/vm/placement.ts";
import { featuresOf, type OvnFeatures } from "../../ovn/zone/features.ts";
import type { Zone } from "../../ovn/zone/zone.ts";
import type { KnownVms, Placements, PlacementWriter } from "../leader/placement-writer.ts";

export interface NorthboundZone {
  readonly northbound: Pick<Northbound, "apply" | "version" | "vms">;
  /** As it is now: nodes come and go. */
  readonly zone: (features: OvnFeatures) => Zone;
  /** Resolves when the rows that there are are known, and OVN's version. Default: they are. */
  readonly ready?: (signal: AbortSignal) => Promise<void>;
}

export class NorthboundWriter implements PlacementWriter {
  /** Key: the zone's name. */
  readonly #zones: ReadonlyMap<string, NorthboundZone>;
  /** Zone -> VM -> where it is, as far as it was told. Of one that was never told nothing is listed. */
  readonly #placements = new Map<string, Map<ObjectKey, VmPlacement>>();

  constructor(zones: ReadonlyMap<string, NorthboundZone>) {
    this.#zones = zones;
  }

  async ready(zone: string, signal: AbortSignal): Promise<void> {
    await this.#zone(zone).ready?.(signal);
  }

  forget(zone: string): void {
    this.#placements.delete(zone);
  }

  async write(zone: string, placements: Placements, signal: AbortSignal): Promise<void> {
    const known = this.#placementsOf(zone);
    for (const [key, placement] of placements) {
      if (placement === "gone") known.delete(key);
      else known.set(key, placement);
    }
    await this.#apply(zone, { topology: false, vms: [...placements.keys()].map(nameOf) }, signal);
  }

  /** The first look at a zone: its switches and routers are set right too, and what is listed for every VM. */
  async sweep(zone: string, known: KnownVms, signal: AbortSignal): Promise<void> {
    const { northbound } = this.#zone(zone);
    const placed = [...known].filter((each): each is [ObjectKey, VmPlacement] => each[1] !== undefined);
    this.#placements.set(zone, new Map(placed));
    const gone = northbound.vms().filter((vm) => !known.has(printVm(vm)));
    await this.#apply(zone, { topology: true, vms: gone }, signal);
  }

  /**
   * A node has come, gone or changed, or somebody else has written: switches, routers and the rows of every VM that is
   * known are set right. Not before the sweep: what is listed for VMs would be taken away. Undefined then.
   */
  async repair(zone: string, signal: AbortSignal): Promise<Applied | undefined> {
    const known = this.#placements.get(zone);
    if (known === undefined) return undefined;
    return await this.#apply(zone, { topology: true, vms: [...known.keys()].map(nameOf) }, signal);
  }

  async #apply(name: string, scope: Scope, signal: AbortSignal): Promise<Applied> {
    const { northbound, zone } = this.#zone(name);
    const vms = [...this.#placementsOf(name).values()];
    return await northbound.apply(desiredOf(zone(featuresOf(northbound.version)), vms, scope), signal);
  }

  #zone(name: string): NorthboundZone {
    const found = this.#zones.get(name);
    if (found === undefined) throw new RangeError(`no northbound database of a zone ${name} is written here`);
    return found;
  }

  #placementsOf(zone: string): Map<ObjectKey, VmPlacement> {
    const known = this.#placements.get(zone) ?? new Map<ObjectKey, VmPlacement>();
    this.#placements.set(zone, known);
    return known;
  }
}

function nameOf(key: ObjectKey): VmName {
  const { namespace = "", name } = parseKey(key);
  return { namespace, name };
}
