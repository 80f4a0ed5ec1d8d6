// whereabouts 0.9.4, played call by call: the lease, a list of all pools, the pool, the lowest free address, the
// reservation, one JSON patch that tests the pool's version, the new reservation. Its mistakes are played too: a patch
// that fails otherwise than by its test is passed over; a DEL deletes the address's reservation, whosever it is.
import { ipPools, reservations, type StoredPool } from "../../src/cluster/resources.ts";
import { isApiError } from "../../src/kube/errors.ts";
import { Elector } from "../../src/kube/leader.ts";
import type { JsonPatchOperation } from "../../src/kube/patch.ts";
import { pointer } from "../../src/kube/patch.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { type Address, plus } from "../../src/net/address.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import type { RaceNetwork, Writer } from "./race.ts";

const retriesMax = 100;

export interface PlayedOptions {
  readonly transport: Transport;
  /** Without it, as the fork's `optimistic_ipam`, or as two sandboxes of one pod at once, which are one holder. */
  readonly lease: boolean;
  /** Of its kubeconfig. Default: kube-system. */
  readonly namespace?: string;
}

export class PlayedWhereabouts implements Writer {
  readonly name: string;
  readonly #client: KubeClient;
  readonly #lease: boolean;
  readonly #namespace: string;

  constructor({ transport, lease, namespace = "kube-system" }: PlayedOptions) {
    this.#namespace = namespace;
    this.#client = new KubeClient({ transport, userAgent: "whereabouts" });
    this.#lease = lease;
    this.name = lease ? "whereabouts" : "whereabouts without its lease";
  }

  async add(network: RaceNetwork, pod: string): Promise<string> {
    return this.#led(pod, () => this.#assign(network, pod));
  }

  async del(network: RaceNetwork, pod: string): Promise<void> {
    await this.#led(pod, () => this.#free(network, pod)).catch(() => {}); // its DEL always answers success
  }

  async #led<T>(pod: string, work: () => Promise<T>): Promise<T> {
    await this.#client.list(ipPools, { namespace: this.#namespace });
    if (!this.#lease) return work();
    // Ten times its own: a busy machine misses those, and its DEL, always a success, then leaves what it should free.
    const times = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 500 };
    const elector = new Elector({
      client: this.#client,
      namespace: this.#namespace,
      name: "whereabouts",
      identity: `default/${pod}`,
      ...times,
    });
    let result: Promise<T> | undefined;
    await elector.run(new AbortController().signal, async () => {
      result = work();
      await result.catch(() => {});
    });
    return result!;
  }

  async #assign(network: RaceNetwork, pod: string): Promise<string> {
    /** Offsets that a reservation of another holds. */
    const passed = new Set<number>();
    let chosen = -1;
    let isReserved = false;
    for (let tries = 0; tries < retriesMax; tries++) {
      const pool = await this.#pool(network);
      if (pool === undefined) continue;
      const entries = Object.entries(pool.spec.allocations);
      const own = entries.find(([, { podref, ifname }]) => podref === `default/${pod}` && ifname === "net1");
      chosen = own === undefined ? lowest(network, pool, passed) : Number(own[0]);
      if (network.overlaps) {
        const there = await this.#reservation(network, chosen);
        if (there !== undefined && there.spec.podref !== `default/${pod}`) {
          passed.add(chosen);
          continue;
        }
        isReserved = there !== undefined;
      }
      const path = pointer("spec", "allocations", String(chosen));
      const value = { id: `c-${pod}`, podref: `default/${pod}`, ifname: "net1" };
      const add: JsonPatchOperation[] = own === undefined ? [{ op: "test", path, value: null }] : [];
      try {
        await this.#patch(pool, [...add, { op: "add", path, value }]);
        break;
      } catch (error) {
        if (isApiError(error, "invalid")) continue;
        if (!network.overlaps) throw error;
        break; // the reservation that follows makes it forget this
      }
    }
    if (network.overlaps && !isReserved) {
      const metadata = { namespace: this.#namespace, name: reservationName(network, chosen) };
      await this.#client.create(reservations, { metadata, spec: { podref: `default/${pod}`, ifname: "net1" } });
    }
    return String(addressAt(network, chosen));
  }

  async #free(network: RaceNetwork, pod: string): Promise<void> {
    for (let tries = 0; tries < retriesMax; tries++) {
      const pool = await this.#pool(network);
      if (pool === undefined) return;
      const [key] =
        Object.entries(pool.spec.allocations).find(([, { id, ifname }]) => id === `c-${pod}` && ifname === "net1") ??
        [];
      if (key === undefined) return;
      try {
        await this.#patch(pool, [{ op: "remove", path: pointer("spec", "allocations", key) }]);
      } catch (error) {
        if (isApiError(error, "invalid")) continue;
      }
      if (network.overlaps)
        await this.#client.delete(reservations, {
          namespace: this.#namespace,
          name: reservationName(network, Number(key)),
        });
      return;
    }
  }

  /** Undefined: it was made just now, and is read again. */
  async #pool({ name, range }: RaceNetwork): Promise<StoredPool | undefined> {
    const at = { namespace: this.#namespace, name: `${name}-${range.replaceAll(/[:/]/g, "-")}` };
    try {
      return await this.#client.get(ipPools, at);
    } catch (error) {
      if (!isApiError(error, "not-found")) throw error;
    }
    await this.#client.create(ipPools, { metadata: at, spec: { range, allocations: {} } }).catch(() => {});
    return undefined;
  }

  async #reservation(network: RaceNetwork, offset: number) {
    try {
      return await this.#client.get(reservations, {
        namespace: this.#namespace,
        name: reservationName(network, offset),
      });
    } catch (error) {
      if (isApiError(error, "not-found")) return undefined;
      throw error;
    }
  }

  async #patch({ metadata }: StoredPool, operations: readonly JsonPatchOperation[]): Promise<void> {
    const test = { op: "test", path: "/metadata/resourceVersion", value: metadata.resourceVersion } as const;
    const at = { namespace: this.#namespace, name: metadata.name ?? "" };
    await this.#client.patch(ipPools, at, { type: "json", operations: [test, ...operations] });
  }
}

function lowest({ range, size }: RaceNetwork, { spec }: StoredPool, passed: ReadonlySet<number>): number {
  for (let offset = 1; offset <= size; offset++) {
    if (!(String(offset) in spec.allocations) && !passed.has(offset)) return offset;
  }
  throw new Error(`Could not allocate IP in range: ${range}`);
}

function addressAt({ range }: RaceNetwork, offset: number): Address {
  return plus(parsePrefix(range).first, offset)!;
}

function reservationName(network: RaceNetwork, offset: number): string {
  return `${network.name}-${String(addressAt(network, offset)).replaceAll(":", "-")}`;
}
