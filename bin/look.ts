// `holdfast pools`, `who`, `leases` and `migrations`, put together: a connection, a snapshot, and what is asked.
import { launcherLabelName, launcherValue } from "../src/api/claims/kubevirt.ts";
import { type PoolRow, poolRows } from "../src/check/pool-table.ts";
import { type LedgerSnapshot, readLedger } from "../src/check/snapshot.ts";
import { unheldIn } from "../src/check/unheld.ts";
import { readVmNetworks } from "../src/check/vmnet/snapshot.ts";
import { leaseRows, type LeaseRow } from "../src/check/vmnet/table.ts";
import { whoReserves } from "../src/check/vmnet/who.ts";
import { type Asked, whoHolds } from "../src/check/who.ts";
import type { ConnectionOptions, LookOptions } from "../src/cli/cluster-command.ts";
import { connected } from "../src/cli/connection.ts";
import type { WhoAnswers } from "../src/cli/who.ts";
import { pods as launcherPods } from "../src/cluster/resources.ts";
import { type MigrationFilter, type MigrationRow, migrationRows } from "../src/migration/receipts/migration-rows.ts";

export async function pools(options: LookOptions): Promise<readonly PoolRow[]> {
  return poolRows(await look(options));
}

export async function who(options: LookOptions, asked: Asked): Promise<WhoAnswers> {
  const { systemNamespace } = options;
  return connected(options, async (client, signal) => {
    const given = { client, systemNamespace, now: Date.now, signal };
    const ledger = await readLedger(given);
    const holds = whoHolds(ledger, asked);
    if (!("name" in asked)) holds.push(...whoReserves(await readVmNetworks(given), asked));
    const isFree = "address" in asked && holds.length === 0;
    return { holds, unheld: isFree ? unheldIn(ledger, asked.address) : [] };
  });
}

export function migrations(options: ConnectionOptions, filter: MigrationFilter): Promise<readonly MigrationRow[]> {
  return connected(options, async (client, signal) => {
    const labelSelector = `${launcherLabelName}=${launcherValue}`;
    const scope = filter.namespace === undefined ? {} : { namespace: filter.namespace };
    const { items } = await client.list(launcherPods, { ...scope, labelSelector, signal });
    return migrationRows(items, Date.now(), filter);
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
