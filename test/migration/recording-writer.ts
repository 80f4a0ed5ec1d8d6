// A northbound that writes down what it is told: the rows of each zone, and each write with what must never be seen.
import { expect } from "vitest";

import type { KnownVms, Placements, PlacementWriter } from "../../src/migration/leader/placement-writer.ts";
import type { VmPlacement } from "../../src/ovn/vm/placement.ts";

export class RecordingWriter implements PlacementWriter {
  /** Zone -> VM -> what was written last. Outlives a leader, as a database does. */
  readonly rows = new Map<string, Map<string, VmPlacement>>();
  /** `ZONE VM NODE` or `ZONE VM gone`, in the order of the writes. */
  readonly writes: string[] = [];
  /** Zone -> so many of its next writes fail. */
  readonly failing = new Map<string, number>();
  sweeps = 0;

  async write(zone: string, placements: Placements): Promise<void> {
    const left = this.failing.get(zone) ?? 0;
    this.failing.set(zone, Math.max(0, left - 1));
    if (left > 0) throw new Error(`zone ${zone} does not answer`);
    const rows = this.#zone(zone);
    for (const [vm, placement] of placements) {
      this.writes.push(`${zone} ${vm} ${placement === "gone" ? "gone" : (placement.activeNode ?? "nowhere")}`);
      if (placement === "gone") {
        rows.delete(vm);
        continue;
      }
      this.#check(rows.get(vm), placement);
      rows.set(vm, placement);
      this.#checkAddresses(rows);
    }
  }

  async sweep(zone: string, known: KnownVms): Promise<void> {
    this.sweeps += 1;
    const rows = this.#zone(zone);
    for (const vm of rows.keys()) if (!known.has(vm)) rows.delete(vm);
  }

  /** What a zone has of a VM: `n2 of n1: n1 n2*`: active, home, ports with a star at the one that answers. */
  of(vm: string, zone = "global"): string {
    const placement = this.#zone(zone).get(vm);
    if (placement === undefined) return "none";
    const ports = placement.ports.map(({ node, isActive }) => `${node}${isActive ? "*" : ""}`);
    return `${placement.activeNode ?? "nowhere"} of ${placement.homeNode ?? "nobody"}: ${ports.toSorted().join(" ")}`;
  }

  addressesOf(vm: string, zone = "global"): string[] {
    const { mac, addresses = [] } = this.#zone(zone).get(vm) ?? {};
    return [`${mac}`, ...addresses.map(({ address, subnet }) => `${address} of ${subnet}`)];
  }

  #zone(zone: string): Map<string, VmPlacement> {
    const rows = this.rows.get(zone) ?? new Map<string, VmPlacement>();
    this.rows.set(zone, rows);
    return rows;
  }

  #check(before: VmPlacement | undefined, after: VmPlacement): void {
    const answering = after.ports.filter(({ isActive }) => isActive).map(({ node }) => node);
    expect(answering).toEqual(after.activeNode === undefined ? [] : [after.activeNode]);
    const isSameLife = before?.ports.some(({ podUid }) => after.ports.some((each) => each.podUid === podUid));
    // A VM that lives and had a port that answers never loses it, nor its address.
    if (isSameLife === true && before?.activeNode !== undefined) expect(after.activeNode).toBeDefined();
    if (isSameLife === true)
      expect(JSON.stringify([after.mac, after.addresses])).toBe(JSON.stringify([before!.mac, before!.addresses]));
  }

  #checkAddresses(rows: ReadonlyMap<string, VmPlacement>): void {
    const active = [...rows.values()].filter(({ activeNode }) => activeNode !== undefined);
    const all = active.flatMap(({ addresses }) => addresses.map(({ address }) => `${address}`));
    expect(new Set(all).size).toBe(all.length);
  }
}
