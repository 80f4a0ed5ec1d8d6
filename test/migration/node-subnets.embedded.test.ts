// Subnets of nodes as slices of the ledger: the leader of slices assigns them, Nodes are told. With daemons that do as
// told, on the embedded API, under the test's own clock.
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { nodes } from "../../src/cluster/resources.ts";
import { parseNetwork } from "../../src/migration/topology/cluster-network.ts";
import { Fixture } from "../slices/leader-fixture.ts";

vi.setConfig({ testTimeout: 120_000 });

const network = parseNetwork({
  subnets: ["10.244.0.0/20/24", "fd10:244::/60/64"],
  joinSubnets: ["100.64.0.0/16", "fd98::/64"],
  mtu: 1400,
  masks: true,
});
const ovn = {
  // Nobody listens there: what nodes are told needs no database.
  northbound: { endpoints: "unix:/nonexistent/ovnnb.sock" },
  network,
  networkName: "pods",
  dnsService: { namespace: "kube-system", name: "kube-dns" },
};
const ipRanges = [
  { range: "10.244.0.0/20", node_slice_size: "/24" },
  { range: "fd10:244::/60", node_slice_size: "/64" },
];

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open();
});
afterEach(() => fixture.close());

async function said(name: string): Promise<Record<string, string>> {
  const { metadata } = await fixture.client.get(nodes, { name });
  return metadata.annotations ?? {};
}
const subnets = async (name: string) => (await said(name))["k8s.ovn.org/node-subnets"];
const has = (name: string, ...texts: readonly string[]) =>
  fixture.until(
    `${name} has ${texts.join(" and ")}`,
    async () => (await subnets(name)) === JSON.stringify({ default: texts }),
  );

it("each node is told its slice of both families, and its number; one that joins gets the next", async () => {
  fixture.lead({ ovn });
  for (const name of ["n1", "n2"]) await fixture.node(name);
  await fixture.define("ovn", { network_name: "pods", ipRanges }, "kube-system");
  await has("n1", "10.244.0.0/24", "fd10:244::/64");
  await has("n2", "10.244.1.0/24", "fd10:244:0:1::/64");
  expect((await said("n2"))["k8s.ovn.org/node-id"]).toBe("3");
  await fixture.node("n3");
  await has("n3", "10.244.2.0/24", "fd10:244:0:2::/64");
});

it("a subnet that a hand wrote for another node too is taken from it; the next leader changes nothing", async () => {
  const first = fixture.lead({ ovn });
  for (const name of ["n1", "n2"]) await fixture.node(name);
  await fixture.define("ovn", { network_name: "pods", ipRanges }, "kube-system");
  await has("n1", "10.244.0.0/24", "fd10:244::/64");
  await has("n2", "10.244.1.0/24", "fd10:244:0:1::/64");
  const annotations = { "k8s.ovn.org/node-subnets": await subnets("n1") };
  await fixture.client.patch(nodes, { name: "n2" }, { type: "merge", body: { metadata: { annotations } } });
  await has("n2", "10.244.1.0/24", "fd10:244:0:1::/64");
  await first.stop();
  const before = await Promise.all(["n1", "n2"].map((name) => fixture.client.get(nodes, { name })));
  fixture.lead({ ovn });
  await fixture.pass(30_000);
  const after = await Promise.all(["n1", "n2"].map((name) => fixture.client.get(nodes, { name })));
  expect(after.map(({ metadata }) => metadata.annotations)).toEqual(before.map(({ metadata }) => metadata.annotations));
});

it("a node that is deleted leaves its subnet to nobody while it is not known to be off", async () => {
  fixture.lead({ ovn });
  for (const name of ["n1", "n2"]) await fixture.node(name);
  await fixture.define("ovn", { network_name: "pods", ipRanges }, "kube-system");
  await has("n1", "10.244.0.0/24", "fd10:244::/64");
  await has("n2", "10.244.1.0/24", "fd10:244:0:1::/64");
  fixture.daemons.get("n1")!.isAlive = false;
  await fixture.deleteNode("n1");
  await fixture.node("n3");
  await has("n3", "10.244.2.0/24", "fd10:244:0:2::/64");
});
