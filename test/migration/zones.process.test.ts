// Interconnected zones: three nodes, each with a northbound database and ovn-northd 23.03 of its own, which its daemon
// writes. The controller writes none: it says who has which number, and keeps the records.
import { afterAll, beforeAll, expect, it } from "vitest";

import { definitionOf } from "../../src/api/definition.ts";
import { kinds } from "../../src/api/kinds.ts";
import { nodes } from "../../src/cluster/resources.ts";
import { assembleController } from "../../src/controller/controller.ts";
import { realClock } from "../../src/kube/clock.ts";
import { silent } from "../../src/log/log.ts";
import { nodeSide } from "../../src/migration/node-side/side.ts";
import { parseNetwork } from "../../src/migration/topology/cluster-network.ts";
import { until } from "../lab/wait.ts";
import { Central } from "../ovn/central.ts";
import { crds } from "../slices/leader-fixture.ts";
import { Fixture } from "./fixture.ts";

const names = ["n1", "n2", "n3"] as const;
type Name = (typeof names)[number];
const ip = "10.244.1.4";
const network = parseNetwork({
  subnets: ["10.244.0.0/16/24", "fd10:244::/48/64"],
  joinSubnets: ["100.64.0.0/16", "fd98::/64"],
  transitSubnets: ["100.88.0.0/16", "fd97::/64"],
  mtu: 1400,
  masks: true,
});
const dnsService = { namespace: "kube-system", name: "kube-dns" };
const shared = { network, dnsService, lookEveryMs: 50 };

let f: Fixture;
let centrals: ReadonlyMap<Name, Central>;
const sides = new Map<Name, { stop: AbortController; ended: Promise<void> }>();
const stopping = new AbortController();
let leading: Promise<void>;
beforeAll(async () => {
  const started = names.map(async (name) => {
    const others = names.filter((each) => each !== name).map((each) => `chassis-${each}`);
    return [name, await Central.start([`chassis-${name}`], others)] as const;
  });
  centrals = new Map(await Promise.all(started));
  f = await Fixture.open();
  for (const kind of kinds) await f.client.create(crds, definitionOf(kind));
  for (const name of names) {
    const annotations = { "k8s.ovn.org/node-chassis-id": `chassis-${name}` };
    await f.client.patch(nodes, { name }, { type: "merge", body: { metadata: { annotations } } });
  }
  const controller = assembleController({
    client: f.client,
    clock: realClock,
    log: silent,
    systemNamespace: "kube-system",
    cooldownMs: 30_000,
    instance: "test",
    reconcilers: [],
    ovn: { ...shared, networkName: "", addresses: f.addresses },
  });
  leading = controller.run(stopping.signal);
  leading.catch(() => {}); // told when it is awaited
  for (const name of names) begin(name);
}, 120_000);
afterAll(async () => {
  stopping.abort();
  await leading?.catch(() => {});
  for (const name of names) await end(name);
  await f?.close();
  for (const central of centrals?.values() ?? []) await central[Symbol.asyncDispose]();
});

function begin(name: Name): void {
  const stop = new AbortController();
  const side = nodeSide({
    client: f.client,
    clock: realClock,
    log: silent,
    systemNamespace: "kube-system",
    node: name,
    switchEndpoints: "unix:/nonexistent/db.sock",
    say: () => {},
    watch: async () => false,
    ownZone: { ...shared, northbound: { endpoints: centrals.get(name)!.unix } },
  });
  sides.set(name, { stop, ended: side.run(stop.signal, () => {}) });
}

async function end(name: Name): Promise<void> {
  sides.get(name)?.stop.abort();
  await sides.get(name)?.ended;
}

async function found(zone: Name, table: string, columns: string, where: string): Promise<string[]> {
  const form = ["--format=csv", "--data=bare", "--no-headings", `--columns=${columns}`];
  return (await centrals.get(zone)!.nbctl(...form, "find", table, where)).split("\n").filter(Boolean).sort();
}

/** What a zone has of the VM: its ports, how many answer, and where its address is routed to. */
async function rowsIn(zone: Name): Promise<string> {
  const ports = await found(zone, "Logical_Switch_Port", "name,addresses", 'external_ids:"k8s.ovn.org/vm"=vm1');
  const routes = await found(zone, "Logical_Router_Static_Route", "nexthop,output_port", `ip_prefix="${ip}"`);
  return `${ports.filter((each) => each.includes(ip)).length} of ${ports.length}; ${routes.join() || "no route"}`;
}

async function shows(rows: Readonly<Record<Name, string>>): Promise<void> {
  for (const name of names) {
    let last = "";
    const ask = async () => (last = await rowsIn(name)) === rows[name];
    await until(ask, { what: `zone ${name} to show ${rows[name]}` }).catch((cause: unknown) => {
      throw new Error(`zone ${name} has ${last}, not ${rows[name]}`, { cause });
    });
  }
}

it("each zone has its node's switch and the others' ports on the transit switch", async () => {
  for (const name of names) {
    const remote = async () => (await found(name, "Logical_Switch_Port", "name", "type=remote")).join();
    const others = names.filter((each) => each !== name).map((each) => `tstor-${each}`);
    await until(async () => (await remote()) === others.join(), { what: `zone ${name} to have ${others.join()}` });
    expect(await found(name, "Logical_Switch", "name", `name!=${name}`)).not.toContain(
      others[0]!.slice("tstor-".length),
    );
    expect(await found(name, "Logical_Switch", "name", `name=${name}`)).toEqual([name]);
  }
});

it(
  "a VM that moves has its rows in each zone; one whose daemon was away catches up",
  { timeout: 120_000 },
  async () => {
    const annotations = { "kubevirt.io/allow-pod-bridge-network-live-migration": "" };
    const vm = await f.kubevirt.create({ namespace: "default", name: "vm1", nics: [], annotations });
    expect(await f.kubevirt.start(vm)).toBe(true);
    await shows({ n1: "1 of 1; no route", n2: "0 of 0; no route", n3: "0 of 0; no route" });
    await f.migrated(vm, "n2");
    await shows({ n1: "0 of 0; 100.88.0.3,", n2: `1 of 1; ${ip},rtos-n2`, n3: "0 of 0; 100.88.0.3," });

    await end("n1");
    const further = await f.migrated(vm, "n3");
    await shows({ n1: "0 of 0; 100.88.0.3,", n2: "0 of 0; 100.88.0.4,", n3: `1 of 1; ${ip},rtos-n3` });
    begin("n1");
    await shows({ n1: "0 of 0; 100.88.0.4,", n2: "0 of 0; 100.88.0.4,", n3: `1 of 1; ${ip},rtos-n3` });
    const receipt = async () => (await f.annotationsOf(further.target))["holdfast.io/migration-receipt"];
    expect(JSON.parse(await until(receipt, { what: "the receipt" }))).toMatchObject({ end: "succeeded" });

    await f.migrated(vm, "n1");
    await shows({ n1: "1 of 1; no route", n2: "0 of 0; no route", n3: "0 of 0; no route" });
  },
);
