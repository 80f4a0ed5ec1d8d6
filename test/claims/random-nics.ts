// The NICs of one VM name, at random: which it is made with, and how they come, go and change their network.
import { forget, plug, plugAgain, replug, swap, unplug } from "./kubevirt/hotplug.ts";
import type { Kubevirt } from "./kubevirt/kubevirt.ts";
import type { Machine } from "./kubevirt/machine.ts";
import type { Migration } from "./kubevirt/migration.ts";
import { interfaceNameOf } from "./kubevirt/names.ts";
import type { Nic } from "./kubevirt/objects.ts";
import type { Chance } from "./random-source.ts";

export interface NicsOptions {
  readonly kubevirt: Kubevirt;
  readonly chance: Chance;
  /** Of definitions that VMs may use. */
  readonly definitions: readonly string[];
  /** A MAC that nobody else has. */
  readonly freshMac: () => string;
}

/** How its user lets things happen. */
export interface Doing {
  /** To its end, whatever that is. */
  move(migration: Migration): Promise<void>;
  /** Waited for a while. */
  begin(work: Promise<unknown>): Promise<void>;
}

/** One is no name that an object may have; one looks like a part of another VM's claim. */
const names = ["blue", "green", "b_c", "x-1"];

export class RandomNics {
  readonly #options: NicsOptions;
  #nics: Nic[] = [];
  /** Those whose unplug is under way. */
  readonly #absent = new Set<string>();

  constructor(options: NicsOptions) {
    this.#options = options;
  }

  /** For a new VM. */
  draw(): readonly Nic[] {
    const count = 1 + this.#options.chance.below(2);
    this.#nics = names.slice(0, count).map((name) => this.#nic(name));
    this.#absent.clear();
    return this.#nics;
  }

  get present(): readonly Nic[] {
    return this.#nics.filter(({ name }) => !this.#absent.has(name));
  }

  async plug(machine: Machine, doing: Doing): Promise<void> {
    const { kubevirt, chance } = this.#options;
    const free = names.find((name) => !this.#nics.some((nic) => nic.name === name));
    if (free === undefined || isFixed(machine)) return;
    const nic = this.#nic(free);
    this.#nics.push(nic);
    if (chance.percent(50)) return doing.begin(plug(kubevirt, machine, nic, "in place"));
    const migration = await plug(kubevirt, machine, nic, "by migration");
    if (migration !== undefined) await doing.move(migration);
  }

  async unplug(machine: Machine, doing: Doing): Promise<void> {
    const { kubevirt, chance } = this.#options;
    const last = this.present.at(-1);
    if (last === undefined || isFixed(machine)) return;
    this.#absent.add(last.name);
    const way = chance.percent(50) ? "in place" : "by migration";
    const migration = await unplug(kubevirt, machine, last.name, way);
    if (migration === undefined) return this.forget(machine);
    if (!chance.percent(30)) return doing.move(migration);
    // Taken back: KubeVirt finishes the unplug all the same, and plugs it again where that succeeds.
    await replug(kubevirt, machine, last.name);
    this.#absent.delete(last.name);
    await doing.move(migration);
    const { instance } = machine;
    const isIn = (element: string) => element === interfaceNameOf(last.name, 0, "hashed");
    if (instance?.active.isLive !== true || [...instance.active.attached.keys()].some(isIn)) return;
    await doing.begin(plugAgain(kubevirt, machine, last.name, "in place"));
  }

  async swap(machine: Machine, doing: Doing): Promise<void> {
    const { kubevirt, chance, definitions } = this.#options;
    const [nic] = this.present;
    if (nic === undefined || isFixed(machine)) return;
    const definition = chance.pick(definitions);
    this.#nics = this.#nics.map((each) => (each === nic ? { ...each, definition } : each));
    const migration = await swap(kubevirt, machine, nic.name, definition);
    if (migration !== undefined) await doing.move(migration);
  }

  /** They are in no pod that lives: KubeVirt takes them out of the specs. */
  async forget(machine: Machine): Promise<void> {
    for (const nic of this.#absent) {
      await forget(this.#options.kubevirt, machine, nic);
      this.#nics = this.#nics.filter(({ name }) => name !== nic);
    }
    this.#absent.clear();
  }

  #nic(name: string): Nic {
    const { chance, definitions, freshMac } = this.#options;
    return { name, definition: chance.pick(definitions), ...(chance.percent(50) && { mac: freshMac() }) };
  }
}

/** A pod with ordinal names takes no hot-plug. */
function isFixed({ instance }: Machine): boolean {
  return instance?.active.scheme === "ordinal";
}
