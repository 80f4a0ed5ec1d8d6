// The default network as the controller has it: assembled as `holdfast controller` assembles it, KubeVirt played on the
// embedded API, a real ovsdb-server and ovn-northd 23.03. Only the controller writes the northbound database.
import { afterAll, beforeAll, expect, it } from "vitest";

import { definitionOf } from "../../src/api/definition.ts";
import { kinds } from "../../src/api/kinds.ts";
import { nodes } from "../../src/cluster/resources.ts";
import { assembleController } from "../../src/controller/controller.ts";
import { realClock } from "../../src/kube/clock.ts";
import type { KubeObject } from "../../src/kube/meta.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { silent } from "../../src/log/log.ts";
import { parseNetwork } from "../../src/migration/topology/cluster-network.ts";
import { until } from "../lab/wait.ts";
import { Central } from "../ovn/central.ts";
import { crds } from "../slices/leader-fixture.ts";
import { Fixture, subnetsOf } from "./fixture.ts";

const services = defineResource<KubeObject & { spec: object }>({
  group: "",
  version: "v1",
  plural: "services",
  kind: "Service",
  namespaced: true,
});
const dnsService = { namespace: "kube-system", name: "kube-dns" };
const ip = "10.244.1.4";

let central: Central;
let f: Fixture;
const stopping = new AbortController();
let running: Promise<void>;
beforeAll(async () => {
  [central, f] = await Promise.all([Central.start(["chassis-n1", "chassis-n2", "chassis-n3"]), Fixture.open()]);
  for (const kind of kinds) await f.client.create(crds, definitionOf(kind));
  for (const digit of [1, 2, 3]) await tell(`n${digit}`, machine(digit));
  running = controller().run(stopping.signal);
  running.catch(() => {}); // told when it is awaited
});
afterAll(async () => {
  stopping.abort();
  await running?.catch(() => {});
  await f?.close();
  await central?.[Symbol.asyncDispose]();
});

function controller() {
  const network = parseNetwork({
    subnets: ["10.244.0.0/16/24", "fd10:244::/48/64"],
    joinSubnets: ["100.64.0.0/16", "fd98::/64"],
    mtu: 1400,
    masks: true,
  });
  return assembleController({
    client: f.client,
    clock: realClock,
    log: silent,
    systemNamespace: "kube-system",
    cooldownMs: 30_000,
    instance: "test",
    reconcilers: [],
    ovn: {
      northbound: { endpoints: central.unix },
      network,
      networkName: "",
      dnsService,
      addresses: f.addresses,
      lookEveryMs: 50,
    },
  });
}

/** What the daemon of a node says of its machine. */
function machine(digit: number): Record<string, string> {
  const gateway = {
    mode: "shared",
    "interface-id": `breth0_n${digit}`,
    "mac-address": `02:00:00:00:01:0${digit}`,
    "ip-addresses": [`172.30.0.${digit}/24`],
    "next-hops": ["172.30.0.254"],
    "vlan-id": "0",
  };
  return {
    "k8s.ovn.org/node-chassis-id": `chassis-n${digit}`,
    "k8s.ovn.org/l3-gateway-config": JSON.stringify({ default: gateway }),
  };
}

const tell = (name: string, annotations: Record<string, string | null>) =>
  f.client.patch(nodes, { name }, { type: "merge", body: { metadata: { annotations } } });

async function found(table: string, columns: string, ...where: readonly string[]): Promise<string[]> {
  const form = ["--format=csv", "--data=bare", "--no-headings", `--columns=${columns}`];
  const text = await central.nbctl(...form, "find", table, ...where);
  return text.split("\n").filter(Boolean).sort();
}

const shows = (what: string, ask: () => Promise<unknown>) => until(async () => (await ask()) === true, { what });
const switches = () => found("Logical_Switch", "name");
/** The cluster router's ports. */
const routerPorts = async () => (await central.nbctl("lrp-list", "ovn_cluster_router")).match(/\((\S+)\)/g)?.sort();
/** Where the VM's port answers, and by which port the cluster router sends to it. */
const place = async () => {
  const ports = await found("Logical_Switch_Port", "name,addresses", 'external_ids:"k8s.ovn.org/vm"=vm1');
  const route = await found("Logical_Router_Static_Route", "output_port", `ip_prefix="${ip}"`);
  return `${ports.filter((each) => each.includes(ip)).length} of ${ports.length}, ${route.join()}`;
};

it("is built from Nodes, which are told their numbers", async () => {
  const all = ["ext_n1", "ext_n2", "ext_n3", "join", "n1", "n2", "n3"];
  await shows("switches of every node", async () => (await switches()).join() === all.join());
  expect(await routerPorts()).toEqual(["(rtoj-ovn_cluster_router)", "(rtos-n1)", "(rtos-n2)", "(rtos-n3)"]);
  expect(await found("Logical_Router_Port", "networks", "name=rtoj-GR_n2")).toEqual(["100.64.0.3/16 fd98::3/64"]);
  expect(await found("Logical_Switch_Port", "addresses", "name=k8s-n1")).toEqual([
    "0a:58:0a:f4:01:02 10.244.1.2 fd10:244:0:1::2",
  ]);
  const { metadata } = await f.client.get(nodes, { name: "n3" });
  expect(metadata.annotations).toMatchObject({ "k8s.ovn.org/node-id": "4" });
});

it("is put right where somebody removes or changes a row, and leaves alone what others have made", async () => {
  await central.nbctl("ls-add", "mine");
  // One after the other: each is noticed by itself.
  await central.nbctl("lsp-del", "stor-n1");
  await shows("the port", async () => (await found("Logical_Switch_Port", "name", "name=stor-n1")).length === 1);
  await central.nbctl("set", "Logical_Router_Port", "rtos-n2", 'networks="10.9.9.1/24"');
  await shows("the networks", async () =>
    (await found("Logical_Router_Port", "networks", "name=rtos-n2"))[0]!.includes("10.244.2.1/24"),
  );
  await central.nbctl("lr-route-del", "ovn_cluster_router", "100.64.0.4");
  await shows(
    "the route",
    async () => (await found("Logical_Router_Static_Route", "nexthop", 'ip_prefix="100.64.0.4"')).length === 1,
  );
  await central.nbctl("lr-del", "GR_n3");
  await shows("the gateway router", async () => (await found("Logical_Router", "name", "name=GR_n3")).length === 1);
  expect(await switches()).toContain("mine");
});

it("has a node when its daemon has said what it is, and tells why it has not before", async () => {
  await f.addNode("n4", subnetsOf(4));
  expect(await f.told("NotInTopology")).toEqual([expect.stringMatching(/^Node n4: .*which chassis/)]);
  expect(await switches()).not.toContain("n4");
  await tell("n4", machine(4));
  await shows("its switch", async () => (await switches()).includes("n4"));
});

it("moves a VM, and tells guests of the DNS service that there is", async () => {
  const vm = await start("vm1");
  await shows("it at home", async () => (await place()) === "1 of 1, ");
  const dns = () => found("DHCP_Options", "options", 'external_ids:"k8s.ovn.org/name"="default/vm1"');
  expect((await dns()).join()).not.toContain("dns_server");
  const spec = { clusterIP: "10.96.0.10", clusterIPs: ["10.96.0.10"], ports: [{ port: 53 }] };
  await f.client.create(services, { metadata: dnsService, spec });
  await shows("the server", async () => (await dns()).join().includes("dns_server=10.96.0.10"));

  const migration = await f.begun(vm, "n2");
  await shows("a second port", async () => (await place()) === "1 of 2, ");
  await migration.succeed();
  await shows("it at n2", async () => (await place()) === "1 of 1, rtos-n2");

  // A hand that takes the way to it, and one that takes its port's addresses.
  await central.nbctl("lr-route-del", "ovn_cluster_router", ip);
  const [port] = await found("Logical_Switch_Port", "name", 'external_ids:"k8s.ovn.org/vm"=vm1');
  await central.nbctl("lsp-set-addresses", port!);
  await shows("it at n2 again", async () => (await place()) === "1 of 1, rtos-n2");
});

it("loses a node that is removed, and keeps the way to a VM whose home it was", async () => {
  await f.client.delete(nodes, { name: "n1" });
  await shows("no switch of it", async () => !(await switches()).includes("n1"));
  expect(await switches()).not.toContain("ext_n1");
  expect(await place()).toBe("1 of 1, rtos-n2");
  expect(await found("Logical_Router_Policy", "nexthops", `match="ip4.src == ${ip}"`)).toEqual(["100.64.0.3"]);
});

/** Its guest runs on n1, and nothing waits for the fixture's own record. */
async function start(name: string) {
  const annotations = { "kubevirt.io/allow-pod-bridge-network-live-migration": "" };
  const started = await f.kubevirt.create({ namespace: "default", name, nics: [], annotations });
  expect(await f.kubevirt.start(started)).toBe(true);
  return started;
}
