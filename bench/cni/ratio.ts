// The peer of the closing line.
import { type Absent, type Contestant, isPresent } from "./contestant.ts";
import { rounded } from "./figures.ts";

/** `peer`, `ratio` and, where there is no peer, `reason`, as the closing line wants them; lower is better. */
export function against(ours: number, entry: Contestant | Absent, theirs: number | undefined) {
  if (!isPresent(entry)) return { ours, peer: null, ratio: null, reason: entry.reason };
  if (theirs === undefined || theirs === 0) {
    return { ours, peer: null, ratio: null, reason: `${entry.name} answered none of its calls` };
  }
  return { ours, peer: theirs, ratio: rounded(theirs / ours) };
}
