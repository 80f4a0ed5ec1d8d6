// The difference between the rows that there are and those that are wanted, as the operations of one transaction.
//
// Promised: carried out on the rows that it was made from, they give exactly the wanted ones; a row that is there
// already is changed in place, so that what refers to it still does; what is neither wanted nor owned stays. They are
// refused as a whole where a row has been changed or made in between: a lost transaction can be carried out late.
import type { Uuid } from "../../ovsdb/notation/uuid.ts";
import type { Value } from "../../ovsdb/notation/value.ts";
import { unchanged } from "../../ovsdb/operations/guard.ts";
import { type Operation, Operations } from "../../ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import { OvnError } from "../error.ts";
import { parentOf, type TableName } from "../rows/tables.ts";
import { chosenUuid, type RowRef, type Wanted } from "../rows/wanted.ts";
import { differing } from "./column.ts";
import { joiningOperations } from "./groups.ts";
import { HolderChanges } from "./holders.ts";
import type { Existing, View } from "./view.ts";

export interface Plan {
  readonly operations: readonly Operation[];
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Keys that two wanted rows have; the first was taken. */
  readonly conflicts: readonly string[];
}

const nb = new Operations(ovnNorthbound);

/** `owned`: rows that are to go unless they are wanted. */
export function plan(view: View, all: readonly Wanted[], owned: Iterable<Existing>): Plan {
  const wanted = new Map<string, Wanted>();
  const conflicts: string[] = [];
  for (const each of all) {
    if (wanted.has(nameOf(each))) conflicts.push(`${each.table} ${each.key}`);
    else wanted.set(nameOf(each), each);
  }

  const kept = new Map<string, Existing>();
  const going = new Map<string, Existing>();
  for (const each of owned) going.set(each.uuid, each);
  for (const [name, each] of wanted) {
    const [first, ...more] = view.find(each);
    if (first !== undefined) kept.set(name, first);
    for (const extra of more) going.set(extra.uuid, extra);
  }
  for (const { uuid } of kept.values()) going.delete(uuid);

  const uuidOf = (ref: RowRef) =>
    kept.get(nameOf(ref))?.uuid ?? (wanted.has(nameOf(ref)) ? chosenUuid(ref) : view.resolve(ref));
  const changes = { guards: [] as Operation[], inserts: [] as Operation[], updates: [] as Operation[] };
  const holders = new HolderChanges(going);
  const joining: Operation[] = [];
  for (const [name, each] of wanted) {
    const old = kept.get(name);
    const row = { ...each.row, ...refsOf(each, uuidOf) };
    const uuid = old?.uuid ?? chosenUuid(each);
    if (old === undefined) changes.inserts.push(nb.insert(each.table, row, { uuid }));
    else changeInPlace(each.table, old, row, changes);
    hold(each, uuid, old, { holders, uuidOf });
    const port = { uuid, isNew: old === undefined };
    joining.push(...joiningOperations(view, each, port, (ref) => kept.get(nameOf(ref))?.uuid));
  }
  const deletes: Operation[] = [];
  for (const each of going.values()) {
    if (parentOf(each.table) === undefined) deletes.push(nb.delete(each.table, [["_uuid", "==", each.uuid]]));
    else for (const parent of each.parents) holders.remove(parent, each);
  }
  const { guards, inserts, updates } = changes;
  return {
    operations: [...guards, ...inserts, ...updates, ...holders.operations(), ...joining, ...deletes],
    inserted: inserts.length,
    updated: updates.length,
    deleted: going.size,
    conflicts,
  };
}

const nameOf = ({ table, key }: RowRef) => `${table} ${key}`;

function refsOf({ refs }: Wanted, uuidOf: (ref: RowRef) => string | undefined): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(refs).map(([column, ref]) => [column, ref && uuidOf(ref)]));
}

function changeInPlace(
  table: TableName,
  old: Existing,
  row: object,
  { guards, updates }: { guards: Operation[]; updates: Operation[] },
): void {
  const differs = differing(table, row, old.row);
  const columns = Object.keys(differs);
  if (columns.length === 0) return;
  const where = [["_uuid", "==", old.uuid]] as const;
  const seen = Object.fromEntries(columns.map((column): [string, Value] => [column, old.row[column]]));
  guards.push(unchanged(ovnNorthbound, table, where, seen).wait);
  updates.push(nb.update(table, where, differs));
}

interface Holding {
  readonly holders: HolderChanges;
  readonly uuidOf: (ref: RowRef) => Uuid | undefined;
}

/** The row is in the switch or router that it belongs to, and in no other. */
function hold({ table, key, parent }: Wanted, uuid: Uuid, old: Existing | undefined, { holders, uuidOf }: Holding) {
  if (parent === undefined) return;
  const holder = uuidOf(parent);
  if (holder === undefined) {
    const words = `${table} ${key} belongs into ${parent.table} ${parent.key}, which is not there`;
    throw new OvnError("no-parent", `${words}: write the topology first.`);
  }
  const held = old?.parents ?? [];
  if (!held.some((each) => each.uuid === holder)) holders.add(table, holder, uuid);
  for (const each of held) if (each.uuid !== holder) holders.remove(each, { table, uuid });
}
