// `holdfast pools`, `who` and `leases`, put together: a connection, one snapshot, and what is asked of it.
import { type PoolRow, poolRows } from "../src/check/pool-table.ts";
import { type LedgerSnapshot, readLedger } from "../src/check/snapshot.ts";
import { readVmNetworks } from "../src/check/vmnet/snapshot.ts";
import { leaseRows, type LeaseRow } from "../src/check/vmnet/table.ts";
import { whoReserves } from "../src/check/vmnet/who.ts";
import { type Answer, type Asked, whoHolds } from "../src/check/who.ts";
import type { LookOptions } from "../src/cli/cluster-command.ts";
import { connected } from "../src/cli/connection.ts";

export async function pools(options: LookOptions): Promise<readonly PoolRow[]> {
  return poolRows(await look(options));
}

export async function who(options: LookOptions, asked: Asked): Promise<readonly Answer[]> {
  const { systemNamespace } = options;
  return connected(options, async (client, signal) => {
    const given = { client, systemNamespace, now: Date.now, signal };
    const answers = whoHolds(await readLedger(given), asked);
    return "name" in asked ? answers : [...answers, ...whoReserves(await readVmNetworks(given), asked)];
  });
}

export async function leases(options: LookOptions, pool?: string): Promise<readonly LeaseRow[] | undefined> {
  const { systemNamespace } = options;
  const snapshot = await connected(options, (client, signal) =>
    readVmNetworks({ client, systemNamespace, now: Date.now, signal }),
  );
  const isThere = pool === undefined || snapshot.pools.some(({ key }) => key === pool || key.endsWith(`/${pool}`));
  return isThere ? leaseRows(snapshot, pool) : undefined;
}

function look(options: LookOptions): Promise<LedgerSnapshot> {
  const { systemNamespace } = options;
  return connected(options, (client, signal) => readLedger({ client, systemNamespace, now: Date.now, signal }));
}
