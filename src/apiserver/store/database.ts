// The durable half of the store: one SQLite file in WAL mode, synchronous=FULL: a commit that returned is on the disk.
import { chmodSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";

import { asError } from "../../kube/abort.ts";
import { Entry, type StoredPlace } from "./entry.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    revision INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (resource, namespace, name)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

/** Raised when the layout of the file changes; an unknown one is refused rather than guessed at. */
const layout = "1";

/** Why a file cannot be served. `used`: another process serves it. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  readonly code: "used" | "foreign" | "layout" | "disk";

  constructor(code: DatabaseError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type Row = { readonly place: StoredPlace; readonly entry: Entry | undefined };

export class Database {
  readonly #db: DatabaseSync;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #meta: StatementSync;

  constructor(path: string) {
    this.#db = open(path);
    this.#put = this.#db.prepare("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)");
    this.#delete = this.#db.prepare("DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?");
    this.#meta = this.#db.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)");
    const found = this.meta("layout");
    if (found !== undefined && found !== layout) {
      this.#db.close();
      const words = `${path} has layout ${found}; this version reads layout ${layout}. Use the version that wrote it.`;
      throw new DatabaseError("layout", words);
    }
    if (found === undefined) this.#meta.run("layout", layout);
  }

  meta(key: string): string | undefined {
    const row = this.#db.prepare("SELECT value FROM meta WHERE key = ?").get(key);
    return row === undefined ? undefined : String(row["value"]);
  }

  setMeta(key: string, value: string): void {
    this.#meta.run(key, value);
  }

  get revision(): number {
    return Number(this.meta("revision") ?? "0");
  }

  *entries(): Generator<Entry> {
    for (const row of this.#db.prepare("SELECT * FROM objects").iterate()) {
      const place = {
        resource: String(row["resource"]),
        namespace: String(row["namespace"]),
        name: String(row["name"]),
      };
      yield new Entry(place, Number(row["revision"]), String(row["body"]));
    }
  }

  /** All rows or none; on the disk when it returns. */
  commit(rows: Iterable<Row>, revision: number): void {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      for (const { place, entry } of rows) {
        if (entry === undefined) this.#delete.run(place.resource, place.namespace, place.name);
        else this.#put.run(place.resource, place.namespace, place.name, entry.revision, entry.json);
      }
      this.#meta.run("revision", String(revision));
      this.#db.exec("COMMIT");
    } catch (cause) {
      // Some failures (a full disk) have rolled back already.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw cause;
    }
  }

  close(): void {
    this.#db.close();
  }
}

function open(path: string): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    // It holds secrets and the server's own key. The files that SQLite adds later take their mode from this one.
    if (path !== ":memory:") chmodSync(path, 0o600);
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000;");
    // One process owns the file: a second server on it would assign the same revisions.
    db.exec("PRAGMA locking_mode = EXCLUSIVE;");
    db.exec(schema);
    return db;
  } catch (cause) {
    db?.close();
    const { code, words } = reasons[(cause as { errcode?: number }).errcode ?? 0] ?? {
      code: "disk",
      words: `cannot be opened: ${asError(cause).message}`,
    };
    throw new DatabaseError(code, `${path} ${words}.`, { cause });
  }
}

/** Key: SQLite's result code. */
const reasons: Readonly<Record<number, { code: DatabaseError["code"]; words: string }>> = {
  5: { code: "used", words: "is served by another process" },
  26: { code: "foreign", words: "is not a database of this API" },
};
