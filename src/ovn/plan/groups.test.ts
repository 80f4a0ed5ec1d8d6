// A VM's ports and the port groups of network policies: a new port is in them from its first transaction on.
import { beforeEach, describe, expect, it } from "vitest";

import { ModelDatabase } from "../../../test/ovn/model.ts";
import { vmAt, zoneOf } from "../../../test/ovn/zones.ts";
import { Operations } from "../../ovsdb/operations/operation.ts";
import { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import { desiredOf } from "../desired.ts";
import { portGroups, tables } from "../rows/tables.ts";
import type { VmPlacement } from "../vm/placement.ts";
import { ownedBy } from "./owned.ts";
import { plan } from "./plan.ts";
import { View } from "./view.ts";

const nb = new Operations(ovnNorthbound);
const zone = zoneOf();
let database: ModelDatabase;

/** How many operations it took. */
function write(vm: VmPlacement): number {
  const view = new View(database);
  const desired = desiredOf(zone, [vm], { topology: true, vms: "all" });
  const { operations } = plan(view, desired.wanted, ownedBy(view, desired));
  database.transact(operations);
  return operations.length;
}

/** The names of the ports in it. */
function portsIn(group: string): string[] {
  const [row] = database.rows(portGroups).by("name", group);
  const ports = database.rows(tables.Logical_Switch_Port);
  return [...row!.ports].map((uuid) => (ports.get(uuid) as unknown as { name: string }).name).toSorted();
}

describe("port groups", () => {
  beforeEach(() => {
    database = new ModelDatabase();
    database.transact(["deny", "allow", "others"].map((name) => nb.insert("Port_Group", { name })));
  });

  it("are joined by the first port, by name, in its transaction; one that is not there is left out", () => {
    const vm = vmAt(["vl-a@n1"], "vl-a@n1", { portGroups: ["deny", "gone"] });
    write(vm);
    expect([portsIn("deny"), portsIn("allow")]).toEqual([["t_vl-a"], []]);
    expect(write(vm)).toBe(0);
  });

  it("of the source are the target's from the beginning, whoever has put it there", () => {
    write(vmAt(["vl-a@n1"], "vl-a@n1"));
    const [source] = database.rows(tables.Logical_Switch_Port).by("key", "t_vl-a");
    for (const name of ["deny", "allow"])
      database.transact([nb.mutate("Port_Group", [["name", "==", name]], [["ports", "insert", [source!.uuid]]])]);
    const both = vmAt(["vl-a@n1", "vl-b@n2"], "vl-a@n1");
    write(both);
    expect(["deny", "allow", "others"].map(portsIn)).toEqual([["t_vl-a", "t_vl-b"], ["t_vl-a", "t_vl-b"], []]);
    expect(write(both)).toBe(0);
    write(vmAt(["vl-b@n2"], "vl-b@n2"));
    expect(portsIn("deny")).toEqual(["t_vl-b"]);
  });

  it("that a port is taken out of by their owner are not joined again", () => {
    const both = vmAt(["vl-a@n1", "vl-b@n2"], "vl-a@n1");
    write(both);
    const [source] = database.rows(tables.Logical_Switch_Port).by("key", "t_vl-a");
    database.transact([nb.mutate("Port_Group", [["name", "==", "allow"]], [["ports", "insert", [source!.uuid]]])]);
    expect(write(both)).toBe(0);
    expect(portsIn("allow")).toEqual(["t_vl-a"]);
  });
});
