// The peer of the closing line.
import { rounded } from "./figures.ts";

/** `ours`, `peer` and `ratio` as the closing line wants them, and a `reason` where there is no peer. */
export function against(
  ours: number,
  theirs: number | undefined,
  { better, reason }: { better: "lower" | "higher"; reason: string | undefined },
) {
  if (theirs === undefined || theirs === 0) {
    return { ours, peer: null, ratio: null, reason: reason ?? "the peer answered none of its calls" };
  }
  return { ours, peer: theirs, ratio: rounded(better === "lower" ? theirs / ours : ours / theirs) };
}

export function reasonOf(entry: object): string | undefined {
  return "reason" in entry && typeof entry.reason === "string" ? entry.reason : undefined;
}
