// Effects that wait for the main thread: bounded, however long that is busy. Of leases the newest of an address counts.
import { V4Address } from "../../../net/address.ts";
import type { Mac } from "../../../net/mac.ts";
import type { Effect } from "../../server/outcome.ts";

/** Others than leases come one for each DECLINE of a known client, or each client of another server: some a day. */
const othersMax = 4096;

type Lease = Extract<Effect, { kind: "leased" | "released" }>;
type Other = Exclude<Effect, Lease>;

/** As it goes from thread to thread: a lease is three entries of an array, since there may be 10,000 in a batch. */
export interface PackedEffects {
  readonly networks: readonly {
    readonly network: string;
    readonly macs: readonly Mac[];
    readonly leases: Float64Array;
  }[];
  readonly others: readonly Other[];
}

/** Address, its time, and 1 where it was released. */
const stride = 3;

export class EffectQueue {
  /** Key: the network; then the address, so that there are never more than bindings. */
  readonly #leases = new Map<string, Map<number, Lease>>();
  #others: Other[] = [];

  get isEmpty(): boolean {
    return this.#leases.size === 0 && this.#others.length === 0;
  }

  push(effect: Effect): void {
    if (effect.kind === "leased" || effect.kind === "released") {
      let leases = this.#leases.get(effect.network);
      if (leases === undefined) this.#leases.set(effect.network, (leases = new Map<number, Lease>()));
      leases.set(effect.address.value, effect);
      return;
    }
    if (this.#others.length >= othersMax) this.#others.shift();
    if (!this.#isRepeated(effect)) this.#others.push(effect);
  }

  take(): PackedEffects {
    const networks = [...this.#leases].map(([network, leases]) => packLeases(network, [...leases.values()]));
    const others = this.#others;
    this.#leases.clear();
    this.#others = [];
    return { networks, others };
  }

  /** A foreign server answers each of its clients several times; one of them in a batch says enough. */
  #isRepeated(effect: Other): boolean {
    if (effect.kind !== "foreign-server") return false;
    return this.#others.some(
      (other) =>
        other.kind === "foreign-server" &&
        other.network === effect.network &&
        other.server.value === effect.server.value &&
        other.mac === effect.mac,
    );
  }
}

function packLeases(network: string, effects: readonly Lease[]): PackedEffects["networks"][number] {
  const leases = new Float64Array(stride * effects.length);
  for (const [index, effect] of effects.entries()) {
    leases[stride * index] = effect.address.value;
    leases[stride * index + 1] = effect.kind === "leased" ? effect.untilMs : effect.atMs;
    leases[stride * index + 2] = effect.kind === "leased" ? 0 : 1;
  }
  return { network, macs: effects.map(({ mac }) => mac), leases };
}

/** On the other side. An address is an object again, which a message between threads makes a bare value of. */
export function unpackEffects({ networks, others }: PackedEffects): Effect[] {
  const effects: Effect[] = [];
  for (const { network, macs, leases } of networks) {
    for (const [index, mac] of macs.entries()) {
      const address = new V4Address(leases[stride * index]!);
      const timeMs = leases[stride * index + 1]!;
      const isReleased = leases[stride * index + 2] === 1;
      if (isReleased) effects.push({ kind: "released", atMs: timeMs, network, address, mac });
      else effects.push({ kind: "leased", untilMs: timeMs, network, address, mac });
    }
  }
  for (const other of others) {
    if (other.kind === "foreign-server") effects.push({ ...other, server: new V4Address(other.server.value) });
    else effects.push({ ...other, address: new V4Address(other.address.value) });
  }
  return effects;
}
