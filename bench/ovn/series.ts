// One guest that moves to and fro in one lab, while pods of both nodes and the world outside speak with it.
import { loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";

import type { PlayedVm } from "../../test/lab/ovn/cluster/played-vm.ts";
import type { Migration } from "../../test/lab/ovn/migration.ts";
import type { Told } from "../../test/lab/ovn/scenarios/scenario.ts";
import type { Watch } from "../../test/lab/ovn/scenarios/watch.ts";
import { type SeriesFigures, seriesOf } from "./gaps.ts";

export interface SeriesPlan {
  readonly vm: PlayedVm;
  readonly watch: Watch;
  readonly moves: number;
  /** After each move: what neighbours are told is told by then, and a connection has caught up. */
  readonly restMs: number;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

export interface Series {
  readonly figures: SeriesFigures;
  readonly told: Told;
}

/** From QEMU's word that the guest runs on the target: until its rows are written, until every chassis has followed. */
export interface Phases {
  readonly writtenMs: number;
  readonly followedMs: number;
}

interface PhasesPlan extends Pick<SeriesPlan, "vm" | "moves" | "restMs" | "signal"> {
  readonly settled: (signal: AbortSignal) => Promise<void>;
}

/** Where the time of a switch-over goes. In a series of its own: to ask every chassis delays what is asked about. */
export async function phases({ vm, moves: count, restMs, signal, settled }: PhasesPlan): Promise<readonly Phases[]> {
  const found: Phases[] = [];
  for (let at = 0; at < count; at++) {
    let [writtenMs, followedMs] = [0, 0];
    const written = async () => {
      writtenMs = Date.now();
      await settled(signal);
      followedMs = Date.now();
    };
    const { atMs } = await vm.move(at % 2 === 0 ? "node2" : "node1", { signal, written });
    found.push({ writtenMs: Math.round(writtenMs - atMs.resumed), followedMs: Math.round(followedMs - atMs.resumed) });
    await pause(restMs, undefined, { signal });
  }
  return found;
}

/** The first move is away from home, the second back, and so on. */
export async function series({ vm, watch, moves: count, restMs, signal, log }: SeriesPlan): Promise<Series> {
  const moves: Migration[] = [];
  await watch.begin();
  for (let at = 0; at < count; at++) {
    moves.push(await vm.move(at % 2 === 0 ? "node2" : "node1", { signal }));
    log(`move ${at + 1} of ${count}: the guest stood still for ${Math.round(moves.at(-1)!.stillMs)} ms`);
    await pause(restMs, undefined, { signal });
  }
  const told = await watch.end();
  return { told, figures: seriesOf(told.probes, moves, Number(loadavg()[0]!.toFixed(1))) };
}
