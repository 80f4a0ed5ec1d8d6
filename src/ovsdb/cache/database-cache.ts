// The followed tables of one database, as the server last told them.
//
// Promised: a message is taken whole or not at all: what cannot be read or does not fit throws before anything has
// changed. Rows that did not change stay the same objects, also when everything was sent anew.
import { OvsdbError } from "../error.ts";
import type { Uuid } from "../notation/uuid.ts";
import type { LiveSchema } from "../schema/live-schema.ts";
import { Batch, type RowChange } from "./batch.ts";
import type { AnyRow, Followed } from "./followed.ts";
import { RowCodec } from "./row-codec.ts";
import { type Rows, TableCache } from "./table-cache.ts";
import type { RowUpdate } from "./updates.ts";

export class DatabaseCache {
  readonly #tables: ReadonlyMap<string, TableCache>;
  readonly #followed: readonly Followed[];
  /** Table -> how its rows are read, from the server at hand. */
  #codecs: ReadonlyMap<string, RowCodec> = new Map();
  #isFilled = false;
  #since: Uuid | undefined;

  constructor(followed: readonly Followed[], onError: (error: unknown) => void) {
    this.#followed = followed;
    this.#tables = new Map(followed.map((each) => [each.table, new TableCache(each, onError)]));
  }

  rows<R extends AnyRow, Index extends string>({ table }: Followed<R, Index>): Rows<R, Index> {
    const found = this.#tables.get(table);
    if (found === undefined) throw new TypeError(`The table ${table} is not among those that this client follows.`);
    return found as unknown as TableCache<R, Index>;
  }

  /**
   * The transaction after which the rows are as they are cached, where the server has told its id. A message that did
   * not fit leaves none: all rows are to be sent anew.
   */
  get since(): Uuid | undefined {
    return this.#since;
  }

  /** The server that the next messages come from. */
  useSchema(live: LiveSchema): void {
    this.#codecs = new Map(
      this.#followed.map((each) => [each.table, new RowCodec(each, live.tables.get(each.table) ?? new Map())]),
    );
  }

  /** What has changed since the last message; `last`: the id of the last transaction that it has. */
  update(updates: readonly RowUpdate[], last: Uuid | undefined, kind: "update" | "resync" = "update"): Batch {
    this.#since = undefined;
    return this.#commit(
      kind,
      updates.map((update) => this.#changeOf(update)),
      last,
    );
  }

  /** All that the server has: what is not among it is gone. */
  replace(updates: readonly RowUpdate[], last: Uuid | undefined): Batch {
    this.#since = undefined;
    const listed = new Map([...this.#tables.keys()].map((table) => [table, new Set<Uuid>()]));
    const changes = updates.map((update) => {
      listed.get(update.table)?.add(update.uuid);
      return this.#changeOf(update);
    });
    for (const [table, uuids] of listed) {
      for (const before of this.#tables.get(table)!.list()) {
        if (!uuids.has(before.uuid)) changes.push({ table, uuid: before.uuid, before, after: undefined });
      }
    }
    return this.#commit(this.#isFilled ? "resync" : "initial", changes, last);
  }

  #changeOf({ table, uuid, what }: RowUpdate): RowChange {
    const codec = this.#codecs.get(table);
    const before = this.#tables.get(table)?.get(uuid);
    if (codec === undefined) throw new OvsdbError("malformed", `The server told of ${table}, which was not asked for.`);
    if (what.kind === "put") {
      const row = codec.decode(uuid, what.row);
      return { table, uuid, before, after: before !== undefined && codec.isSame(before, row) ? before : row };
    }
    if (before === undefined) {
      throw new OvsdbError("inconsistent", `The server changed the row ${uuid} of ${table}, which it never told of.`);
    }
    return { table, uuid, before, after: what.kind === "delete" ? undefined : codec.differ(before, what.row) };
  }

  #commit(kind: Batch["kind"], all: readonly RowChange[], last: Uuid | undefined): Batch {
    const changes = all.filter(({ before, after }) => before !== after);
    for (const { table, uuid, after } of changes) this.#tables.get(table)!.replace(uuid, after);
    this.#isFilled = true;
    this.#since = last;
    return new Batch(kind, changes);
  }
}
