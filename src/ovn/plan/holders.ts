// Changes of the sets by which switches and routers hold their rows: one operation for each set.
import type { Uuid } from "../../ovsdb/notation/uuid.ts";
import type { Mutation } from "../../ovsdb/operations/condition.ts";
import { type Operation, Operations } from "../../ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import { parentOf, type TableName } from "../rows/tables.ts";
import type { Existing } from "./view.ts";

interface Change {
  readonly child: TableName;
  readonly holder: Uuid;
  readonly added: Uuid[];
  readonly removed: Uuid[];
}

const nb = new Operations(ovnNorthbound);

export class HolderChanges {
  /** Rows that go themselves: what they hold goes with them. */
  readonly #going: ReadonlyMap<string, Existing>;
  /** Key: the holder's uuid and the child's table. */
  readonly #changes = new Map<string, Change>();

  constructor(going: ReadonlyMap<string, Existing>) {
    this.#going = going;
  }

  add(child: TableName, holder: Uuid, uuid: Uuid): void {
    this.#of(child, holder).added.push(uuid);
  }

  remove(holder: Existing, { table, uuid }: Pick<Existing, "table" | "uuid">): void {
    if (!this.#going.has(holder.uuid)) this.#of(table, holder.uuid).removed.push(uuid);
  }

  operations(): Operation[] {
    return Array.from(this.#changes.values(), ({ child, holder, added, removed }) => {
      const { table, column } = parentOf(child)!;
      const mutations = [
        ...(removed.length > 0 ? [[column, "delete", removed]] : []),
        ...(added.length > 0 ? [[column, "insert", added]] : []),
      ] as unknown as Mutation<(typeof ovnNorthbound)["tables"][typeof table]>[];
      return nb.mutate(table, [["_uuid", "==", holder]], mutations);
    });
  }

  #of(child: TableName, holder: Uuid): Change {
    const key = `${holder} ${child}`;
    const known = this.#changes.get(key);
    if (known !== undefined) return known;
    const made: Change = { child, holder, added: [], removed: [] };
    this.#changes.set(key, made);
    return made;
  }
}
