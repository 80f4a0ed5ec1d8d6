// Writers of several kinds on one range: who has which address at every moment, by what each was answered.
import { setTimeout as pause } from "node:timers/promises";

import type { DaemonFixture } from "./daemon-fixture.ts";
import { network as configOf, pod as podOf } from "./fixture.ts";

export interface RaceNetwork {
  readonly name: string;
  readonly range: string;
  /** Addresses in it that can be given. */
  readonly size: number;
  /** enable_overlapping_ranges. */
  readonly overlaps: boolean;
  /** Where whereabouts keeps its pools, by the operator's word. Default: kube-system. */
  readonly namespace?: string;
}

export interface Writer {
  readonly name: string;
  /** The address, or it throws: then a DEL follows, as a runtime does. */
  add(network: RaceNetwork, pod: string): Promise<string>;
  del(network: RaceNetwork, pod: string): Promise<void>;
}

export interface RaceReport {
  /** Writer -> how many ADDs were answered with an address. */
  readonly given: Record<string, number>;
  readonly refused: Record<string, number>;
  /** `address: who, who` where two had one at once. */
  readonly duplicates: readonly string[];
  /** Sentences of refusals, each once, for who reads a failure. */
  readonly reasons: readonly string[];
}

/** Each lane holds so many at once: of a range of 30, eight lanes take most. */
const keptPerLane = 3;

export async function race(network: RaceNetwork, lanes: readonly Writer[], rounds: number): Promise<RaceReport> {
  /** address -> who was answered it and has not given it back. */
  const owners = new Map<string, string>();
  const given: Record<string, number> = {};
  const refused: Record<string, number> = {};
  const duplicates: string[] = [];
  const reasons = new Set<string>();
  const run = async (writer: Writer, lane: number) => {
    const kept: { readonly pod: string; readonly address: string }[] = [];
    const giveBack = async () => {
      const { pod, address } = kept.shift()!;
      if (owners.get(address) === pod) owners.delete(address);
      await writer.del(network, pod);
    };
    for (let round = 0; round < rounds; round++) {
      const pod = `${network.name}-${lane}-${round}`;
      try {
        const address = await writer.add(network, pod);
        const other = owners.get(address);
        if (other !== undefined) duplicates.push(`${address}: ${other}, ${pod} (${writer.name})`);
        owners.set(address, pod);
        kept.push({ pod, address });
        given[writer.name] = (given[writer.name] ?? 0) + 1;
      } catch (error) {
        refused[writer.name] = (refused[writer.name] ?? 0) + 1;
        reasons.add(
          `${writer.name}: ${(error as Error).message.replaceAll(/[\d.:a-f]*[.:][\d.:a-f]+|\d+/g, "N").slice(0, 300)}`,
        );
        await writer.del(network, pod);
      }
      if (Math.random() < 0.3) await pause(Math.random() * 10);
      if (kept.length >= keptPerLane) await giveBack();
    }
    while (kept.length > 0) await giveBack();
  };
  await Promise.all(lanes.map(run));
  return { given, refused, duplicates, reasons: [...reasons] };
}

/** Our daemon, asked as a runtime asks it. */
export class DaemonWriter implements Writer {
  readonly name = "holdfast";
  readonly #daemonFixture: DaemonFixture;

  constructor(daemonFixture: DaemonFixture) {
    this.#daemonFixture = daemonFixture;
  }

  async add(network: RaceNetwork, pod: string): Promise<string> {
    const told = await this.#daemonFixture.ask({ command: "ADD", ...this.#asked(network, pod) });
    if (told.status !== 0) throw new Error(told.text);
    return String(told.json.ips[0].address).split("/")[0]!;
  }

  async del(network: RaceNetwork, pod: string): Promise<void> {
    const told = await this.#daemonFixture.ask({ command: "DEL", ...this.#asked(network, pod) });
    if (told.status !== 0) throw new Error(told.text);
  }

  #asked({ name, range, overlaps }: RaceNetwork, pod: string) {
    const ipam = { range, network_name: name, enable_overlapping_ranges: overlaps };
    return { ...podOf(pod), interfaceName: "net1", config: configOf(name, ipam) };
  }
}
