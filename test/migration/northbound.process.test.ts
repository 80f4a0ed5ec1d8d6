// The reconciler and the rows, joined: KubeVirt played on the embedded API, a real ovsdb-server and ovn-northd. One
// VM's life, and what a process finds that begins in the middle.
import { afterAll, beforeAll, expect, it } from "vitest";

import type { PlacementWriter } from "../../src/migration/leader/placement-writer.ts";
import { NorthboundWriter } from "../../src/migration/northbound/northbound-writer.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import type { Desired } from "../../src/ovn/desired.ts";
import { tables } from "../../src/ovn/rows/tables.ts";
import type { OvnFeatures } from "../../src/ovn/zone/features.ts";
import type { Zone } from "../../src/ovn/zone/zone.ts";
import { Central } from "../ovn/central.ts";
import { type Writer, writerOf } from "../ovn/running.ts";
import { zoneOf } from "../ovn/zones.ts";
import { Fixture, subnetsOf } from "./fixture.ts";

let central: Central;
let database: Writer;
let f: Fixture;
beforeAll(async () => {
  [central, f] = await Promise.all([Central.start(["chassis-n1", "chassis-n2", "chassis-n3"]), Fixture.open()]);
  database = await writerOf(central);
});
afterAll(async () => {
  await f?.close();
  await database?.[Symbol.asyncDispose]();
  await central?.[Symbol.asyncDispose]();
});

const ip = "10.244.1.4";

/** With the fixture's subnets. */
function zone(features: OvnFeatures): Zone {
  const base = zoneOf({ features });
  const nodes = base.nodes.map((node) => ({
    ...node,
    subnets: subnetsOf(node.name.slice(1)).map((each) => parsePrefix(each)),
  }));
  return { ...base, nodes };
}

interface ListingPort {
  readonly options?: ReadonlyMap<string, string>;
}

/** What n1 answers for in place of others, after each transaction: OVN 23.03 has a list for it. */
const listed: boolean[] = [];

/** First the database, then the record by which the fixture waits. */
function writer(): PlacementWriter {
  const { northbound, client } = database;
  const watched = {
    get version() {
      return northbound.version;
    },
    vms: () => northbound.vms(),
    async apply(desired: Desired, signal: AbortSignal) {
      const applied = await northbound.apply(desired, signal);
      const [port] = client.rows(tables.Logical_Switch_Port).by("key", "stor-n1") as readonly ListingPort[];
      listed.push(port?.options?.get("arp_proxy")?.split(" ").includes(ip) === true);
      return applied;
    },
  };
  const rows = new NorthboundWriter(new Map([["global", { northbound: watched, zone }]]));
  return {
    async write(name, placements, signal) {
      await rows.write(name, placements, signal);
      await f.writer.write(name, placements);
    },
    async sweep(name, known, signal) {
      await rows.sweep(name, known, signal);
      await f.writer.sweep(name, known);
    },
  };
}

async function found(table: string, columns: string, where: string): Promise<string[]> {
  const form = ["--format=csv", "--data=bare", "--no-headings", `--columns=${columns}`];
  const text = await central.nbctl(...form, "find", table, where);
  return text.split("\n").filter(Boolean).sort();
}

interface Seen {
  readonly ports: number;
  readonly answering: number;
  readonly route?: string | undefined;
  readonly gateway?: string | undefined;
  readonly entry?: string | undefined;
  readonly dhcp: number;
}

/** What the database has of the VM. */
async function rowsOfVm(): Promise<Seen> {
  const ports = await found("Logical_Switch_Port", "name,addresses", 'external_ids:"k8s.ovn.org/vm"=vm1');
  const [route] = await found("Logical_Router_Static_Route", "output_port", `ip_prefix="${ip}"`);
  const [gateway] = await found("Logical_Router_Policy", "nexthops", `match="ip4.src == ${ip}"`);
  const [entry] = await found("Static_MAC_Binding", "logical_port", `ip="${ip}"`);
  const dhcp = await found("DHCP_Options", "cidr", 'external_ids:"k8s.ovn.org/name"="default/vm1"');
  const answering = ports.filter((each) => each.includes(ip)).length;
  return { ports: ports.length, answering, route, gateway, entry, dhcp: dhcp.length };
}
const nowhere = { route: undefined, gateway: undefined, entry: undefined };
const home: Seen = { ports: 1, answering: 1, ...nowhere, dhcp: 2 };
const away: Seen = { ports: 1, answering: 1, route: "rtos-n2", gateway: "100.64.0.3", entry: "rtos-n2", dhcp: 2 };

/** As OVN-Kubernetes leaves them of a VM that is no more. */
const leftover = [
  "policy=dst-ip",
  'ip_prefix="10.244.1.99"',
  'nexthop="10.244.1.99"',
  'external_ids:"k8s.ovn.org/zone"=local',
  'external_ids:"k8s.ovn.org/namespace"=default',
  'external_ids:"k8s.ovn.org/vm"=dead',
];

it("a VM moves away, is found there by another process, comes home, and is deleted", async () => {
  const first = await f.lead({ writer: writer() });
  const vm = await f.started("vm1");
  expect(await rowsOfVm()).toEqual(home);
  expect(listed.at(-1)).toBe(false);

  const migration = await f.begun(vm, "n2");
  await f.shows("vm1", "n1 of n1: n1* n2");
  expect(await rowsOfVm()).toEqual({ ...home, ports: 2 });
  await migration.succeed();
  await f.shows("vm1", "n2 of n1: n2*");
  expect(await rowsOfVm()).toEqual(away);
  expect(listed.at(-1)).toBe(true);

  await first.stop();
  const row = ["--id=@left", "create", "Logical_Router_Static_Route", ...leftover];
  await central.nbctl(...row, "--", "add", "Logical_Router", "ovn_cluster_router", "static_routes", "@left");
  f.writer.rows.clear();
  listed.length = 0;
  await f.lead({ writer: writer() });
  await f.shows("vm1", "n2 of n1: n2*");
  expect(await rowsOfVm()).toEqual(away);
  expect(await found("Logical_Router_Static_Route", "ip_prefix", 'ip_prefix="10.244.1.99"')).toEqual([]);
  // The first look at the zone already: not for a moment was the VM out of the pods' reach.
  expect(new Set(listed)).toEqual(new Set([true]));

  await f.migrated(vm, "n1");
  await f.shows("vm1", "n1 of n1: n1*");
  expect(await rowsOfVm()).toEqual(home);
  expect(listed.at(-1)).toBe(false);

  await f.kubevirt.delete(vm);
  await f.shows("vm1", "none");
  expect(await rowsOfVm()).toEqual({ ports: 0, answering: 0, ...nowhere, dhcp: 0 });
});
