// How long ago, in as few characters as kubectl itself uses: 45s, 3m20s, 5h, 12d.

export function ageOf(timestamp: string | null | undefined, nowMs: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === "") return "<unknown>";
  return duration(Math.max(0, Math.floor((nowMs - Date.parse(timestamp)) / 1000)));
}

/** [upper bound in seconds, unit, unit below where it is still shown]. */
const scale: readonly (readonly [number, number, string, number, string])[] = [
  [120, 1, "s", 0, ""],
  [600, 60, "m", 1, "s"],
  [3 * 3600, 60, "m", 0, ""],
  [8 * 3600, 3600, "h", 60, "m"],
  [48 * 3600, 3600, "h", 0, ""],
  [8 * 86_400, 86_400, "d", 3600, "h"],
  [2 * 365 * 86_400, 86_400, "d", 0, ""],
  [8 * 365 * 86_400, 365 * 86_400, "y", 86_400, "d"],
];

function duration(seconds: number): string {
  for (const [bound, unit, name, below, belowName] of scale) {
    if (seconds >= bound) continue;
    const rest = below === 0 ? 0 : Math.floor((seconds % unit) / below);
    return `${Math.floor(seconds / unit)}${name}${rest === 0 ? "" : `${rest}${belowName}`}`;
  }
  return `${Math.floor(seconds / (365 * 86_400))}y`;
}
