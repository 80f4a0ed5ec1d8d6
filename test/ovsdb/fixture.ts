// A client of the northbound database for tests: tables with plain rows, and what ovsdb-client sees of them.
import { follow, type Followed } from "../../src/ovsdb/cache/followed.ts";
import { decodeValue } from "../../src/ovsdb/notation/value.ts";
import { absent } from "../../src/ovsdb/operations/guard.ts";
import { Operations } from "../../src/ovsdb/operations/operation.ts";
import { writeOnce } from "../../src/ovsdb/operations/write-once.ts";
import { ovnNorthbound } from "../../src/ovsdb/schema/ovn-northbound.ts";
import { OvsdbClient } from "../../src/ovsdb/session/client.ts";
import type { ClientOptions } from "../../src/ovsdb/session/options.ts";
import type { OvsdbServer } from "./ovsdb-server.ts";

export const nb = new Operations(ovnNorthbound);

export const switches = follow(ovnNorthbound, "Logical_Switch", {
  columns: ["name", "ports", "other_config", "external_ids"],
  indexes: { name: (row) => [row.name] },
});

export const ports = follow(ovnNorthbound, "Logical_Switch_Port", {
  columns: ["name", "addresses", "options", "tag", "enabled", "dhcpv4_options", "external_ids"],
  indexes: {
    name: (row) => [row.name],
    vm: (row) => (row.external_ids.has("vm") ? [row.external_ids.get("vm")!] : []),
  },
});

export const global = follow(ovnNorthbound, "NB_Global", { columns: ["nb_cfg", "options", "ipsec"] });

const followed: readonly Followed[] = [switches, ports, global];

export interface RunningClient extends AsyncDisposable {
  readonly client: OvsdbClient;
  readonly errors: Error[];
}

/** Runs until it is disposed of; resolves once the cache is filled. */
export async function runClient(options: Partial<ClientOptions> & { endpoints: string }): Promise<RunningClient> {
  const stop = new AbortController();
  const errors: Error[] = [];
  const client = new OvsdbClient({
    database: ovnNorthbound,
    followed,
    firstBackoffMs: 20,
    maxBackoffMs: 200,
    onError: (error) => errors.push(error),
    ...options,
  });
  const running = client.run(stop.signal);
  await client.until(() => client.hasSynced || undefined, AbortSignal.timeout(30_000));
  return {
    client,
    errors,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

/** The cache, as plain values. */
export function cached(client: OvsdbClient): Map<string, Map<string, object>> {
  const tables = followed.map((each) => [
    each.table,
    new Map(Array.from(client.rows(each).list(), (row) => [row.uuid, { ...row }])),
  ]);
  return new Map(tables as [string, Map<string, object>][]);
}

/** The same from the server, by ovsdb-client. */
export async function dumped(server: OvsdbServer): Promise<Map<string, Map<string, object>>> {
  const dump = await server.dump();
  const tables = followed.map(({ table, shape, columns }) => {
    const { headings, data } = dump.get(table)!;
    const rows = data.map((cells) => {
      const cell = (column: string) => cells[headings.indexOf(column)];
      const [, uuid] = cell("_uuid") as [string, string];
      const values = columns.map((column) => [column, decodeValue(shape[column]!, cell(column), column)]);
      return [uuid, { uuid, ...Object.fromEntries(values) }] as const;
    });
    return [table, new Map<string, object>(rows)] as const;
  });
  return new Map(tables);
}

/** Makes the switch, once, however often the reply is lost. */
export async function makeSwitch(client: OvsdbClient, name: string, signal: AbortSignal) {
  return await writeOnce(
    client,
    [absent(ovnNorthbound, "Logical_Switch", { name })],
    [nb.insert("Logical_Switch", { name })],
    signal,
  );
}
