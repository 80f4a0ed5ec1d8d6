// Plans, carried out on a database in memory, against an oracle that only lists what is to be there.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { ModelDatabase } from "../../../test/ovn/model.ts";
import { leftovers, strangers } from "../../../test/ovn/others.ts";
import { newest, oldest, vmAt, zoneOf } from "../../../test/ovn/zones.ts";
import { volume } from "../../../test/volume.ts";
import { parseAddress } from "../../net/address.ts";
import { parseMac } from "../../net/mac.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { TableShape } from "../../ovsdb/notation/shape.ts";
import { decodeValue, defaultValue, encodeValue } from "../../ovsdb/notation/value.ts";
import { ovnNorthbound } from "../../ovsdb/schema/ovn-northbound.ts";
import { type Desired, desiredOf } from "../desired.ts";
import { type TableName, tables } from "../rows/tables.ts";
import type { VmPlacement } from "../vm/placement.ts";
import type { Zone } from "../zone/zone.ts";
import { ownedBy } from "./owned.ts";
import { plan } from "./plan.ts";
import { View } from "./view.ts";

const all = { topology: true, vms: "all" } as const;

function planned(database: ModelDatabase, desired: Desired) {
  const view = new View(database);
  return plan(view, desired.wanted, ownedBy(view, desired));
}

function applied(database: ModelDatabase, desired: Desired): number {
  const { operations } = planned(database, desired);
  if (operations.length > 0) database.transact(operations);
  return operations.length;
}

/** Columns by which switches and routers hold their rows: rows say it themselves, by their parents. */
const holding: ReadonlySet<string> = new Set(["ports", "static_routes", "policies", "nat"]);

/** Table and key -> what of the row can be read without uuids. */
function readable(database: ModelDatabase): Map<string, Record<string, unknown>> {
  const view = new View(database);
  const rows = (Object.keys(tables) as TableName[]).flatMap((table) => view.list(table));
  const names = new Map(rows.map((row) => [row.uuid as string, `${row.table} ${view.keyOf(row)}`]));
  const entries = rows.map((each) => {
    const columns = Object.entries(each.row).filter(([column]) => column !== "uuid" && !holding.has(column));
    const parents = each.parents.map(({ uuid }) => names.get(uuid));
    return [
      names.get(each.uuid)!,
      {
        ...Object.fromEntries(columns.map(([column, value]) => [column, names.get(value as string) ?? value])),
        parents,
      },
    ] as const;
  });
  expect(new Set(entries.map(([name]) => name)).size).toBe(entries.length);
  return new Map(entries);
}

/** The rows that are wanted, one by one, as a reader would find them; what is not said has its default. */
function oracle({ wanted }: Desired): Map<string, Record<string, unknown>> {
  const rows = wanted.map(({ table, key, row, refs, parent }) => {
    const shapes: TableShape = ovnNorthbound.tables[table];
    const columns = [...tables[table].columns]
      .filter((column) => !holding.has(column))
      .map((column) => {
        const value: unknown = (row as Record<string, unknown>)[column];
        const written = value === undefined ? undefined : encodeValue(shapes[column]!, value, column);
        const read =
          written === undefined ? defaultValue(shapes[column]!) : decodeValue(shapes[column]!, written, column);
        const ref = refs[column];
        return [column, ref === undefined ? read : `${ref.table} ${ref.key}`] as const;
      });
    const parents = parent === undefined ? [] : [`${parent.table} ${parent.key}`];
    return [`${table} ${key}`, { ...Object.fromEntries(columns), parents }] as const;
  });
  return new Map(rows);
}

const places = ["n1", "n2", "n3"] as const;
const place = fc.constantFrom(...places);
const vm = (index: number): fc.Arbitrary<VmPlacement> =>
  fc
    .record({
      home: fc.constantFrom(...places, undefined),
      at: fc.uniqueArray(place, { maxLength: 2 }),
      isReady: fc.boolean(),
      isDual: fc.boolean(),
    })
    .map(({ home, at, isReady, isDual }) => {
      const ports = at.map((node) => `vl-${index}-${node}@${node}`);
      const addresses = [
        { address: parseAddress(`10.244.0.${100 + index}`), subnet: parsePrefix("10.244.0.0/24") },
        { address: parseAddress(`fd10:244:0:1::${index}`), subnet: parsePrefix("fd10:244:0:1::/64") },
      ];
      const mac = parseMac(`0a:58:0a:f4:00:0${index}`);
      const more = { name: `vm${index}`, mac, addresses: isDual ? addresses : addresses.slice(0, 1), homeNode: home };
      return vmAt(ports, isReady ? ports.at(-1) : undefined, more);
    });
const vms = fc
  .tuple(fc.option(vm(1)), fc.option(vm(2)), fc.option(vm(3)))
  .map((list) => list.filter((each) => each !== null));
const zone: fc.Arbitrary<Zone> = fc
  .record({ of: fc.constantFrom(undefined, "n1", "n2"), isOld: fc.boolean(), hasThird: fc.boolean() })
  .map(({ of, isOld, hasThird }) =>
    zoneOf({
      ...(of === undefined ? {} : { of }),
      features: isOld ? oldest : newest,
      names: hasThird ? ["n1", "n2", "n3"] : ["n1", "n2"],
    }),
  );
const numRuns = volume(60, 1000);

describe("any zone and VMs after any others", () => {
  it("are exactly what is wanted, and a second plan has nothing to do", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(zone, vms), { minLength: 1, maxLength: 4 }), (states) => {
        const database = new ModelDatabase();
        for (const [each, placements] of states) {
          const desired = desiredOf(each, placements, all);
          applied(database, desired);
          expect(planned(database, desired).operations).toEqual([]);
          expect(readable(database)).toEqual(oracle(desired));
        }
      }),
      { numRuns },
    );
  });

  it("one VM by itself is written as all of them are", () => {
    fc.assert(
      fc.property(zone, vms, vms, (each, before, after) => {
        const database = new ModelDatabase();
        applied(database, desiredOf(each, before, all));
        const names = [...before, ...after].map(({ namespace, name }) => ({ namespace, name }));
        for (const one of names) applied(database, desiredOf(each, after, { topology: false, vms: [one] }));
        expect(readable(database)).toEqual(oracle(desiredOf(each, after, all)));
      }),
      { numRuns },
    );
  });
});

describe("rows of others", () => {
  const one = zoneOf();

  it("stay as they are, to the uuid, through any VMs", () => {
    fc.assert(
      fc.property(fc.array(vms, { maxLength: 4 }), (states) => {
        const database = new ModelDatabase();
        applied(database, desiredOf(one, [], all));
        const before = new Set(database.dump().map(([, uuid]) => uuid));
        database.transact(strangers());
        const isTheirs = ([, uuid]: readonly [TableName, string, object]) => theirs.has(uuid);
        const theirs = new Set<string>(
          database
            .dump()
            .filter(([, uuid]) => !before.has(uuid))
            .map(([, uuid]) => uuid),
        );
        const was = database.dump().filter(isTheirs);
        for (const placements of [...states, [vmAt(["vl-a@n2"], "vl-a@n2")], []])
          applied(database, desiredOf(one, placements, all));
        expect(was).toHaveLength(11);
        expect(database.dump().filter(isTheirs)).toEqual(was);
      }),
      { numRuns: volume(20, 500) },
    );
  });

  it.each([
    ["away", vmAt(["vl-a@n2"], "vl-a@n2")],
    ["at home", vmAt(["vl-a@n1"], "vl-a@n1")],
    ["gone", undefined],
  ])("that OVN-Kubernetes left are cleaned up: the VM is %s", (_, placement) => {
    const database = new ModelDatabase();
    applied(database, desiredOf(one, [], all));
    database.transact(leftovers("10.244.0.4"));
    const desired = desiredOf(one, placement === undefined ? [] : [placement], all);
    applied(database, desired);
    expect(planned(database, desired).operations).toEqual([]);
    const expected = oracle(desired);
    const rest = [...readable(database)].filter(([name]) => !expected.has(name)).map(([name]) => name);
    // Where the VM is, the address that OVN-Kubernetes gave its traffic is no other than ours.
    const active = placement?.activeNode;
    expect(rest).toEqual(active === undefined ? [] : [`NAT GR_${active} snat 10.244.0.4`]);
    for (const [name, row] of expected) expect(readable(database).get(name)).toEqual(row);
  });

  it("are taken over in place where they are what is wanted", () => {
    const database = new ModelDatabase();
    applied(database, desiredOf(one, [], all));
    database.transact(leftovers("10.244.0.4"));
    const uuids = (table: TableName) =>
      database
        .dump()
        .filter(([each]) => each === table)
        .map(([, uuid]) => uuid);
    const [routes, options] = [uuids("Logical_Router_Static_Route"), uuids("DHCP_Options")];
    applied(
      database,
      desiredOf(one, [vmAt(["vl-a@n2"], "vl-a@n2", { addresses: vmAt([], undefined).addresses.slice(0, 1) })], all),
    );
    expect(routes).toEqual(expect.arrayContaining(uuids("Logical_Router_Static_Route")));
    expect(options).toEqual(expect.arrayContaining(uuids("DHCP_Options")));
  });

  it("keep their words in a row that is ours", () => {
    const database = new ModelDatabase();
    const desired = desiredOf(one, [vmAt(["vl-a@n1"], "vl-a@n1")], all);
    applied(database, desired);
    const [, uuid] = database
      .dump()
      .find(([table, , row]) => table === "Logical_Switch_Port" && row["name"] === "t_vl-a")!;
    database.transact([
      {
        op: "mutate",
        table: "Logical_Switch_Port",
        where: [["_uuid", "==", ["uuid", uuid]]],
        mutations: [["external_ids", "insert", ["map", [["theirs", "1"]]]]],
      },
    ]);
    expect(planned(database, desired).operations).toEqual([]);
  });
});

describe("a transaction that is late", () => {
  it("is refused as a whole once another has changed the same row", () => {
    const database = new ModelDatabase();
    applied(database, desiredOf(zoneOf(), [vmAt(["vl-a@n2"], "vl-a@n2")], all));
    const late = planned(
      database,
      desiredOf(zoneOf(), [vmAt(["vl-a@n2", "vl-b@n1"], "vl-b@n1", { homeNode: "n3" })], all),
    );
    applied(database, desiredOf(zoneOf(), [vmAt(["vl-c@n3"], "vl-c@n3")], all));
    expect(() => database.transact(late.operations)).toThrow();
  });

  it("cannot be carried out twice", () => {
    const database = new ModelDatabase();
    const { operations } = planned(database, desiredOf(zoneOf(), [vmAt(["vl-a@n2"], "vl-a@n2")], all));
    database.transact(operations);
    expect(() => database.transact(operations)).toThrow("duplicate uuid");
  });
});

describe("what cannot be done", () => {
  it("is said: a port without its switch", () => {
    const desired = desiredOf(zoneOf(), [vmAt(["vl-a@n1"], "vl-a@n1")], { topology: false, vms: "all" });
    expect(() => planned(new ModelDatabase(), desired)).toThrow(expect.objectContaining({ code: "no-parent" }));
  });

  it("is told: two VMs of one address; the first has it", () => {
    const two = [vmAt(["vl-a@n2"], "vl-a@n2"), vmAt(["vl-b@n3"], "vl-b@n3", { name: "vm2" })];
    const { conflicts } = planned(new ModelDatabase(), desiredOf(zoneOf(), two, all));
    expect(conflicts).toContain("Logical_Router_Static_Route ovn_cluster_router dst-ip 10.244.0.4");
  });
});
