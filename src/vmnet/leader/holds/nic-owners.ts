// The NICs that have addresses, as numbers: one number for each NIC of a network config, for as long as somebody keeps
// it. 100,000 in 10,000 configs are 7 MiB. Promised: `get` gives what `keep` was given, field by field.
import type { PackedOwners } from "../../../ipam/allocation-table.ts";
import type { Owner } from "../../../ipam/owner.ts";
import { hashText, SlotIndex } from "../../../ipam/slot-index.ts";
import { isMac } from "../../../net/mac.ts";
import type { NicOwner } from "../../plan/nic-hold.ts";

/** A network config, as owners name it. */
interface Config extends Pick<NicOwner, "uid" | "namespace" | "name"> {
  /** How many NICs of it are kept. */
  nics: number;
}

export class NicOwners implements PackedOwners {
  /** Slot -> config; undefined: an unused slot. */
  readonly #configs: (Config | undefined)[] = [];
  readonly #unusedConfigs: number[] = [];
  readonly #byConfig = new SlotIndex();
  /** NIC -> slot of its config, its MAC as a number, and how often it is kept; 0: an unused slot. */
  readonly #configOf: number[] = [];
  readonly #macs: number[] = [];
  readonly #uses: number[] = [];
  readonly #unused: number[] = [];
  readonly #byNic = new SlotIndex();
  /** NIC -> its name, where that is no MAC in the usual spelling. */
  readonly #otherNames = new Map<number, string>();

  /** Undefined: it is no NIC. To be dropped as often as it was kept. */
  keep(owner: Owner): number | undefined {
    if (owner.kind !== "nic") return undefined;
    const hash = hashOf(owner);
    const known = this.#byNic.find(hash, (nic) => this.#is(nic, owner));
    const nic = known >= 0 ? known : this.#add(owner, hash);
    this.#uses[nic]! += 1;
    return nic;
  }

  get(nic: number): NicOwner {
    const { uid, namespace, name } = this.#configs[this.#configOf[nic]!]!;
    return { kind: "nic", uid, namespace, name, nic: this.#nameOf(nic) };
  }

  drop(nic: number): void {
    this.#uses[nic]! -= 1;
    if (this.#uses[nic]! > 0) return;
    this.#byNic.delete(hashOf(this.get(nic)), nic);
    this.#otherNames.delete(nic);
    this.#unused.push(nic);
    const slot = this.#configOf[nic]!;
    const config = this.#configs[slot]!;
    config.nics -= 1;
    if (config.nics > 0) return;
    this.#byConfig.delete(hashOfConfig(config), slot);
    this.#configs[slot] = undefined;
    this.#unusedConfigs.push(slot);
  }

  *configs(): IterableIterator<Readonly<Config>> {
    for (const config of this.#configs) if (config !== undefined) yield config;
  }

  /** How many NICs are kept. */
  get size(): number {
    return this.#uses.length - this.#unused.length;
  }

  #add(owner: NicOwner, hash: number): number {
    const nic = this.#unused.pop() ?? this.#uses.length;
    const mac = isMac(owner.nic) ? Number.parseInt(owner.nic.replaceAll(":", ""), 16) : -1;
    this.#configOf[nic] = this.#configFor(owner);
    this.#macs[nic] = mac;
    this.#uses[nic] = 0;
    if (mac < 0) this.#otherNames.set(nic, owner.nic);
    this.#byNic.add(hash, nic);
    return nic;
  }

  #configFor({ uid, namespace, name }: NicOwner): number {
    const hash = hashOfConfig({ uid, name });
    const isSame = (slot: number) => {
      const config = this.#configs[slot]!;
      return config.uid === uid && config.name === name && config.namespace === namespace;
    };
    const known = this.#byConfig.find(hash, isSame);
    const slot = known >= 0 ? known : (this.#unusedConfigs.pop() ?? this.#configs.length);
    if (known < 0) {
      this.#configs[slot] = { uid, namespace, name, nics: 0 };
      this.#byConfig.add(hash, slot);
    }
    this.#configs[slot]!.nics += 1;
    return slot;
  }

  #is(nic: number, { uid, namespace, name, nic: text }: NicOwner): boolean {
    const config = this.#configs[this.#configOf[nic]!]!;
    if (config.uid !== uid || config.name !== name || config.namespace !== namespace) return false;
    return this.#nameOf(nic) === text;
  }

  #nameOf(nic: number): string {
    const mac = this.#macs[nic]!;
    if (mac < 0) return this.#otherNames.get(nic)!;
    return mac
      .toString(16)
      .padStart(12, "0")
      .replaceAll(/(..)(?!$)/g, "$1:");
  }
}

const hashOf = ({ nic, uid }: NicOwner): number => hashText(nic, hashText(uid));
const hashOfConfig = ({ uid, name }: Pick<NicOwner, "uid" | "name">): number => hashText(name, hashText(uid));
