// What the fuzz stories of both families share: numbers that are the same for the same seed, rounds that name
// themselves when they fail, and bytes of a frame that are spoilt.
import { it } from "vitest";

export type Draw = (below: number) => number;

/** Small and quick (xorshift, 32 bits). */
function randomOf(seed: number): Draw {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Millions take some minutes; this is only so that they may. */
const timeoutMs = 3_600_000;

export interface Story {
  readonly round: (index: number) => void;
  /** What must be true after all rounds. */
  readonly end: () => void;
}

/** One test per seed. */
export function fuzzing(begin: (draw: Draw, rounds: number) => Story) {
  return (perSeed: number, seeds: readonly number[]): void => {
    it.each(seeds)(
      `${perSeed} spoilt frames, seed %i`,
      (seed) => {
        const { round, end } = begin(randomOf(seed), perSeed);
        for (let index = 0; index < perSeed; index++) {
          try {
            round(index);
          } catch (cause) {
            throw new Error(`round ${index} of seed ${seed}`, { cause });
          }
        }
        end();
      },
      timeoutMs,
    );
  };
}

/** The frame with up to three of its first `headBytes` changed, cut off, or as it is. */
export function spoiltFrame(draw: Draw, kind: number, frame: Uint8Array, headBytes: number): Uint8Array {
  if (kind === 4) for (let i = draw(4); i > 0; i--) frame[draw(Math.min(frame.length, headBytes))] = draw(256);
  return kind === 5 ? frame.subarray(0, draw(frame.length + 1)) : frame;
}
