// ovsdb-server(5): the database `_Server`, in which a server tells of itself, and what it says of a database's fitness.
import { follow } from "../cache/followed.ts";
import type { DatabaseShape, Row } from "../notation/shape.ts";
import type { Uuid } from "../notation/uuid.ts";

export const serverDatabase = {
  name: "_Server",
  version: "1.2.0",
  tables: {
    Database: {
      name: "string",
      model: { enum: ["clustered", "relay", "standalone"] },
      connected: "boolean",
      leader: "boolean",
      cid: { optional: "uuid" },
      index: { optional: "integer" },
    },
  },
} as const satisfies DatabaseShape;

export const databaseRows = follow(serverDatabase, "Database", {
  columns: ["name", "model", "connected", "leader"],
  optional: ["cid", "index"], // Open vSwitch 2.9 has them; a relay may not
  indexes: { name: (row) => [row.name] },
});

export interface ServerWishes {
  /** Only the leader of a cluster: what it tells is fresh, and what is read there is what was written. */
  readonly leaderOnly: boolean;
  /** The cluster that it must be; undefined: any. */
  readonly clusterId: Uuid | undefined;
  /** The newest log entry that was seen of a cluster, and of which. A server behind it would turn the cache back. */
  readonly seen: { readonly clusterId: Uuid | undefined; readonly index: number } | undefined;
}

type DatabaseRow = Row<(typeof serverDatabase)["tables"]["Database"]>;

/** Why the server is not to be used, as the end of a sentence; undefined if it is. */
export function faultOfServer(row: DatabaseRow | undefined, wishes: ServerWishes): string | undefined {
  if (row === undefined) return "it does not have the database";
  if (row.model === "standalone") {
    return wishes.clusterId === undefined ? undefined : `it is no member of the cluster ${wishes.clusterId}`;
  }
  if (!row.connected) return "it is out of touch with its cluster";
  if (wishes.leaderOnly && !row.leader) return "it is not the leader of its cluster";
  if (wishes.clusterId !== undefined && row.cid !== wishes.clusterId) {
    return `it is of the cluster ${row.cid ?? "without a name"}, not of ${wishes.clusterId}`;
  }
  const { seen } = wishes;
  if (seen !== undefined && seen.clusterId === row.cid && (row.index ?? 0) < seen.index) {
    return `it is at entry ${row.index ?? 0} of the log, and ${seen.index} has been seen already`;
  }
  return undefined;
}
