// etcd is restored beneath the real kube-apiserver from a copy that knows no slice of a network yet, while daemons and
// sandboxes run on: whoever leads then gives no block of a journal to others, and no address a second time.
import { afterAll, beforeAll, expect, it } from "vitest";

import { nodeSlicePools } from "../../src/cluster/resources.ts";
import { fetchState, restoredKey } from "../../src/cluster/state.ts";
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import type { Cluster } from "../lab/cluster.ts";
import { etcdCopy } from "../lab/etcd-copy.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { Fixture, type Network, systemNamespace } from "./fixture.ts";
import { patient } from "./restorable-server.ts";
import { addMany } from "./steps.ts";
import { prepare } from "./wipe.ts";

let lab: Cluster;
let connection: Connection;
let fixture: Fixture;
beforeAll(async () => {
  lab = await cluster();
  connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
  await prepare(connection.client);
  fixture = new Fixture({ transport: connection.transport }, { restoreSettleMs: 40_000 }, 2);
}, coldStartTimeoutMs);
afterAll(async () => {
  await fixture?.close();
  await connection?.[Symbol.asyncDispose]();
  await lab?.stop();
}, coldStartTimeoutMs);

const assigned = async () =>
  (await fixture.books()).pools.flatMap((pool) => pool.assigned.map(({ node, block }) => `${node} ${block}`));
/** By pods that the copy has bound: a kubelet ends those that its API server has forgotten. */
const guestsOf = (node: string, count: number) => Promise.all(Array.from({ length: count }, () => fixture.pod(node)));

it("no block is two nodes', and no address of a live sandbox is given again", { timeout: 600_000 }, async () => {
  const copy = etcdCopy(lab);
  const late = { range: "10.140.0.0/26", node_slice_size: "/28", network_name: "late" };
  const before = await fixture.define("cut", { range: "10.141.0.0/26", node_slice_size: "/28", network_name: "cut" });
  for (const name of ["a", "m"]) await fixture.join(name);
  fixture.lead();
  await addMany(fixture, before, "a", 2);
  const guests = [...(await guestsOf("a", 3)), ...(await guestsOf("m", 3))];
  const [last] = await guestsOf("m", 1);
  await fixture.settle();
  await copy.take();
  let net: Network = await fixture.define("late", late);
  for (const guest of guests) await fixture.add(guest, net);
  await fixture.add(last!, before);
  await fixture.settle();
  const blocks = (await assigned()).filter((each) => each.includes("10.140."));
  expect(blocks).toHaveLength(2);
  const given = fixture.given.map(({ address }) => address);

  // m hears nothing of it until the new leader has begun, and a node that the copy has no slice for asks first.
  fixture.node("m").line.cut();
  await fixture.killLeaders();
  await copy.restore();
  expect((await fixture.admin.list(nodeSlicePools)).items).toHaveLength(1);
  net = await fixture.define("late", late);
  await fixture.join("b");
  fixture.lead();
  const noted = async () => (await fetchState(fixture.admin, { namespace: systemNamespace }))?.data?.[restoredKey];
  await expect.poll(noted, patient).toBeDefined();
  fixture.clock.shiftMs += 120_000;
  expect(await fixture.tryAdd(await fixture.pod("b"), net)).toMatchObject({ status: 1 });
  expect(await fixture.dangers()).toEqual([]);
  fixture.node("m").line.heal();
  await expect.poll(noted, patient).toBeUndefined();
  for (const node of ["b", "m", "a"]) for (const each of [net, before]) await addMany(fixture, each, node, 2);
  await expect.poll(assigned, patient).toEqual(expect.arrayContaining(blocks));
  await fixture.settle();
  const all = fixture.given.map(({ address }) => address);
  expect(all).toEqual(expect.arrayContaining(given));
  expect(new Set(all).size).toBe(all.length);
});
