// Port groups that new ports join, as operations of the transaction that makes the ports.
import type { Uuid } from "../../ovsdb/notation/uuid.ts";
import { type Operation, Operations } from "../../ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import type { RowRef, Wanted } from "../rows/wanted.ts";
import type { View } from "./view.ts";

const nb = new Operations(ovnNorthbound);

/** `old`: the rows that are there, by what they are looked for. */
export function joiningOperations(
  view: View,
  { joins }: Wanted,
  port: { readonly uuid: Uuid; readonly isNew: boolean },
  old: (ref: RowRef) => Uuid | undefined,
): readonly Operation[] {
  if (joins === undefined) return [];
  const named = joins.groups.flatMap((name) => view.groupsNamed(name));
  const alike = port.isNew
    ? joins.as.map(old).flatMap((uuid) => (uuid === undefined ? [] : view.groupsWith(uuid)))
    : [];
  const all = new Map([...named, ...alike].map((group) => [group.uuid, group]));
  return [...all.values()]
    .filter(({ ports }) => !ports.has(port.uuid))
    .map(({ uuid }) => nb.mutate("Port_Group", [["_uuid", "==", uuid]], [["ports", "insert", [port.uuid]]]));
}
