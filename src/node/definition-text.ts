// A pool's definition as text: the key of what is kept per definition.
import type { PoolDefinition } from "../ipam/definition.ts";
import type { Interval } from "../net/interval.ts";

/** Every address and prefix prints itself; interval sets and reservations are plain. */
export function definitionText(definition: PoolDefinition): string {
  const { prefix, start, end, outside, excludes = [], reservations = [], gateway, l3, tiny, cooldownMs } = definition;
  const run = ({ first, last }: Interval) => `${first}-${last}`;
  const ends = [prefix, start, end, gateway].map((each) => (each === undefined ? "" : each.toString()));
  const withheld = [...excludes.map(run), ...reservations.map(({ interval, reason }) => `${run(interval)} ${reason}`)];
  return JSON.stringify([ends, withheld, excludes.length, outside, l3, tiny, cooldownMs]);
}
