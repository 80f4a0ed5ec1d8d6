// `holdfast pools` and `holdfast who`, put together: a connection, one snapshot, and what is asked of it.
import { type PoolRow, poolRows } from "../src/check/pool-table.ts";
import { type LedgerSnapshot, readLedger } from "../src/check/snapshot.ts";
import { type Answer, type Asked, whoHolds } from "../src/check/who.ts";
import type { LookOptions } from "../src/cli/cluster-command.ts";
import { connected } from "../src/cli/connection.ts";

export async function pools(options: LookOptions): Promise<readonly PoolRow[]> {
  return poolRows(await look(options));
}

export async function who(options: LookOptions, asked: Asked): Promise<readonly Answer[]> {
  return whoHolds(await look(options), asked);
}

function look(options: LookOptions): Promise<LedgerSnapshot> {
  const { systemNamespace } = options;
  return connected(options, (client, signal) => readLedger({ client, systemNamespace, now: Date.now, signal }));
}
