// What one message of the server changed in the cache: one or more transactions, never a part of one.
import type { Uuid } from "../notation/uuid.ts";
import type { AnyRow, Followed } from "./followed.ts";

export interface RowChange<R extends AnyRow = AnyRow> {
  readonly table: string;
  readonly uuid: Uuid;
  /** Not there: inserted. */
  readonly before: R | undefined;
  /** Not there: deleted. */
  readonly after: R | undefined;
}

export class Batch {
  /**
   * `initial`: the first that is known. `update`: as the server told it. `resync`: what differs after a time without a
   * connection, in which rows may have changed several times.
   */
  readonly kind: "initial" | "update" | "resync";
  readonly changes: readonly RowChange[];

  constructor(kind: Batch["kind"], changes: readonly RowChange[]) {
    this.kind = kind;
    this.changes = changes;
  }

  /** Those of one table. */
  of<R extends AnyRow>({ table }: Followed<R>): readonly RowChange<R>[] {
    return this.changes.filter((change): change is RowChange<R> => change.table === table);
  }
}
