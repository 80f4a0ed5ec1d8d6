// The table of `holdfast pools`. Pure.
import { formatDomain } from "../api/pools/domain.ts";
import { usableOf } from "../ipam/definition.ts";
import { columnLines } from "../log/columns.ts";
import { sizeOf } from "../net/interval.ts";
import { comparePrefixes, contains } from "../net/prefix.ts";
import { membersOf, networkOf } from "../pools/membership.ts";
import { planMirror } from "../pools/mirror/mirror.ts";
import { totalsOf } from "../pools/mirror/pool-status.ts";
import { usefulIn, usesOfPool } from "../pools/networks.ts";
import type { SlicePoolView } from "./slices/slice-view.ts";
import type { LedgerSnapshot } from "./snapshot.ts";

export interface PoolRow {
  readonly namespace: string;
  readonly name: string;
  readonly network: string;
  readonly range: string;
  readonly total: string;
  readonly used: string;
  readonly free: string;
  readonly definitions: readonly string[];
  /** Where it is cut into slices, their size, `/24`: then `holdfast slices` has the rest. */
  readonly sliceSize?: string;
}

export function poolRows(snapshot: LedgerSnapshot): PoolRow[] {
  return [...sharedRows(snapshot), ...snapshot.slices.pools.map((pool) => slicedRow(snapshot, pool))];
}

function sharedRows({ pools, held, index, networks }: LedgerSnapshot): PoolRow[] {
  const ofPool = membersOf(held, index);
  return pools.map(({ pool, range }) => {
    const members = ofPool.get(range.key) ?? [];
    const plan = planMirror(pool, members);
    const uses = usesOfPool(networks.uses, range);
    const { total, used, free } = totalsOf({ pool, range, held: members, plan, useful: usefulIn(uses) });
    return {
      namespace: range.namespace,
      name: range.name,
      network: networkOf(range),
      range: pool.spec.range,
      total: total.toString(),
      used: used.toString(),
      free: free.toString(),
      definitions: [...new Set(uses.map(({ definition }) => definition))],
    };
  });
}

/** All slices of a range as one: used are the addresses that nodes hold in them, and those of the floating part. */
function slicedRow({ slices, held, networks }: LedgerSnapshot, pool: SlicePoolView): PoolRow {
  const own = slices.slices.filter((slice) => slice.namespace === pool.namespace && slice.pool === pool.name);
  const told = slices.sliced.ranges.find((each) => each.namespace === pool.namespace && each.pool === pool.name);
  const network = told?.network ?? own[0]?.network ?? "";
  const domain = formatDomain({ scope: "network", network });
  const addresses = new Set([
    ...own.flatMap(({ entries }) => entries.map(({ address }) => address.toString())),
    ...held
      .filter(({ cooling, namespace }) => cooling === undefined && namespace === pool.namespace)
      .filter(({ hold }) => contains(pool.range, hold.address) && hold.domain === domain)
      .map(({ hold }) => hold.address.toString()),
  ]);
  const uses = [...networks.sliced, ...networks.uses].filter(
    ({ namespace, identity, range }) =>
      namespace === pool.namespace && identity.network === network && comparePrefixes(range.prefix, pool.range) === 0,
  );
  const total = usefulIn(uses)?.size ?? sizeOf(usableOf({ prefix: pool.range }));
  const used = BigInt(addresses.size);
  return {
    namespace: pool.namespace,
    name: pool.name,
    network,
    range: pool.range.toString(),
    total: total.toString(),
    used: used.toString(),
    free: (used > total ? 0n : total - used).toString(),
    definitions: [...new Set(uses.map(({ definition }) => definition))],
    sliceSize: `/${pool.sliceLength}`,
  };
}

export function tableLines(rows: readonly PoolRow[]): string[] {
  return columnLines([
    ["NAMESPACE", "POOL", "NETWORK", "RANGE", "TOTAL", "USED", "FREE", "USED BY"],
    ...rows.map(({ namespace, name, network, range, total, used, free, definitions, sliceSize }) => [
      namespace,
      name,
      network || "-",
      sliceSize === undefined ? range : `${range} in ${sliceSize}`,
      total,
      used,
      free,
      definitions.join(",") || "-",
    ]),
  ]);
}
