// The life of one slice on the real kube-apiserver: real watches by name, real merge patches, real reservations.
import { afterAll, beforeAll, expect, it } from "vitest";

import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { listHolds } from "../../src/ledger/reservation/list-holds.ts";
import type { Cluster } from "../lab/cluster.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { installDefinitions } from "../ledger/definitions.ts";
import { domain, heldBy, AgentFixture, podOwner, slice, take } from "./agent-fixture.ts";

const patience = { timeout: 30_000 };
let lab: Cluster;
let connection: Connection;
let daemonFixture: AgentFixture;
beforeAll(async () => {
  lab = await cluster();
  connection = connect(await loadKubeconfig({ path: lab.kubeconfig }));
  await installDefinitions(connection.client);
  daemonFixture = new AgentFixture({ transport: connection.transport, close: () => {} });
}, coldStartTimeoutMs);
afterAll(async () => {
  await daemonFixture?.close();
  await connection?.[Symbol.asyncDispose]();
  await lab?.stop();
}, coldStartTimeoutMs);

it("a slice is granted, shown, lost and made again, lent from, and drained", async () => {
  const first = await daemonFixture.start();
  await daemonFixture.grant(slice, { generation: 4 });
  await expect.poll(() => first.journal.blocksOf(domain).size, patience).toBe(16n);
  // Containers that the API server need not know: on a busy machine two looks for orphans come before the end.
  for (const each of [1, 2, 3]) {
    await take(first, `10.0.0.${each}`, "", { ...podOwner(`p${each}`), namespace: "node.n1" });
  }
  await expect
    .poll(() => daemonFixture.entries(slice), patience)
    .toEqual({
      "1": "node.n1/p1",
      "2": "node.n1/p2",
      "3": "node.n1/p3",
    });
  await first.stop();

  await daemonFixture.remove(slice);
  const second = await daemonFixture.start();
  await expect.poll(() => second.journal.blocksOf(domain).size, patience).toBe(16n);
  await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ generation: 4, used: 3, free: 13 });

  await daemonFixture.change(slice, () => ({ lend: { ask: 1, addresses: 8 } }));
  await expect
    .poll(() => daemonFixture.word(slice), patience)
    .toMatchObject({ gives: { ask: 1, block: "10.0.0.8/29" } });
  await daemonFixture.change(slice, () => ({ lend: undefined, without: ["10.0.0.8/29"] }));
  await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ serial: 3, free: 5 });

  await daemonFixture.change(slice, () => ({ phase: "draining" }));
  await expect.poll(() => daemonFixture.word(slice), patience).toMatchObject({ sealed: true, used: 0 });
  expect([heldBy(second), await daemonFixture.entries(slice)]).toEqual([[], {}]);
  const reserved: string[] = [];
  for await (const each of listHolds(daemonFixture.client)) {
    if (each.unreadable === undefined) reserved.push(`${each.hold.address} ${each.hold.owner.name}`);
  }
  expect(reserved.sort()).toEqual(["10.0.0.1 p1", "10.0.0.2 p2", "10.0.0.3 p3"]);
}, 120_000);
