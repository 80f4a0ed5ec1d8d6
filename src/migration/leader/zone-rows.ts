// What was written to each zone, so that only what has changed is written again; and the first look at a zone, in which
// rows of VMs that are gone are removed.
import type { ObjectKey } from "../../kube/meta.ts";
import type { VmPlacement } from "../../ovn/vm/placement.ts";
import type { KnownVms, PlacementWriter, Zones } from "./placement-writer.ts";
import { zoneOrder } from "./zone-order.ts";

export interface ZoneRowsOptions {
  readonly writer: PlacementWriter;
  readonly zones: Zones;
  /** VMs that run, as they are known now. */
  readonly known: () => KnownVms;
}

export class ZoneRows {
  readonly #options: ZoneRowsOptions;
  /** Zone -> VM -> what was written, as text. */
  readonly #written = new Map<string, Map<ObjectKey, string>>();
  /** Zone -> the sweep that is under way or done. */
  readonly #swept = new Map<string, Promise<void>>();

  constructor(options: ZoneRowsOptions) {
    this.#options = options;
  }

  /** What was written counts no more: of one zone, or of all. */
  forget(zone?: string): void {
    for (const each of zone === undefined ? this.#options.zones.all() : [zone]) {
      this.#written.delete(each);
      this.#swept.delete(each);
      this.#options.writer.forget?.(each);
    }
  }

  get unswept(): readonly string[] {
    return this.#options.zones.all().filter((zone) => !this.#swept.has(zone));
  }

  /**
   * All zones, in an order in which traffic always has a way. Where the zone of the guest fails nothing else is
   * written; where another does, the rest is, and then the first failure is thrown.
   */
  async write(key: ObjectKey, placement: VmPlacement | "gone", signal: AbortSignal): Promise<void> {
    const text = JSON.stringify(placement);
    const failures: unknown[] = [];
    for (const [index, zone] of zoneOrder(placement, this.#options.zones).entries()) {
      try {
        await this.#writeZone(zone, key, placement, text, signal);
      } catch (error) {
        if (index === 0 && placement !== "gone") throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** No row of a VM that does not run is left. Before the first write: what is written meanwhile could go with it. */
  sweep(zone: string, signal: AbortSignal): Promise<void> {
    const known = this.#swept.get(zone);
    if (known !== undefined) return known;
    const sweeping = this.#sweep(zone, signal);
    this.#swept.set(zone, sweeping);
    sweeping.catch(() => {
      if (this.#swept.get(zone) === sweeping) this.#swept.delete(zone);
    });
    return sweeping;
  }

  async #sweep(zone: string, signal: AbortSignal): Promise<void> {
    const { writer, known } = this.#options;
    await writer.ready?.(zone, signal);
    await writer.sweep(zone, known(), signal);
  }

  async #writeZone(
    zone: string,
    key: ObjectKey,
    placement: VmPlacement | "gone",
    text: string,
    signal: AbortSignal,
  ): Promise<void> {
    await this.sweep(zone, signal);
    const written = this.#written.get(zone) ?? new Map<ObjectKey, string>();
    this.#written.set(zone, written);
    if (written.get(key) === text) return;
    // Until the answer is here nobody knows what is there.
    written.delete(key);
    await this.#options.writer.write(zone, new Map([[key, placement]]), signal);
    // What has gone is not remembered: a VM of that name may come again.
    if (placement !== "gone" && this.#written.get(zone) === written) written.set(key, text);
  }
}
