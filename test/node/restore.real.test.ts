// etcd is restored from an older copy beneath the real kube-apiserver, while daemons and pods run on.
import { afterAll, beforeAll, expect, it } from "vitest";

import { configMaps, pods } from "../../src/cluster/resources.ts";
import { stateName } from "../../src/cluster/state.ts";
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import type { Cluster } from "../lab/cluster.ts";
import { etcdCopy } from "../lab/etcd-copy.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { tellState } from "../ledger/told-state.ts";
import type { DaemonFixture } from "./daemon-fixture.ts";
import { given, network, Fixture } from "./fixture.ts";
import { podArgs } from "./shim.ts";

let lab: Cluster;
let fixture: Fixture;
beforeAll(async () => {
  lab = await cluster();
  const connection = connect(await loadKubeconfig({ path: lab.kubeconfig, context: undefined }));
  const stop = async () => {
    await connection[Symbol.asyncDispose]();
    await lab.stop();
  };
  fixture = await Fixture.open({ transport: connection.transport, stop });
}, coldStartTimeoutMs);
afterAll(() => fixture.close());

const config = network("etcd", { range: "10.40.0.0/24", network_name: "etcd" });

const version = async () => Number((await fixture.admin.list(configMaps)).metadata.resourceVersion);

async function pod(name: string, node: string) {
  const spec = { nodeName: node, containers: [{ name: "c", image: "none" }] };
  const { metadata } = await fixture.admin.create(pods, { metadata: { namespace: "default", name }, spec });
  return { container: `c-${name}`, args: podArgs("default", name, metadata.uid) };
}

/** As a runtime: until it is answered with something else than "later". */
async function patiently(
  daemonFixture: DaemonFixture,
  asked: Parameters<typeof given>[1],
): Promise<{ addresses: string[]; laters: string[] }> {
  const laters: string[] = [];
  for (;;) {
    const told = await daemonFixture.ask({ command: "ADD", ...asked });
    if (told.status === 0) return { addresses: told.json.ips.map((ip: { address: string }) => ip.address), laters };
    if (told.json.code !== 11) throw new Error(told.text);
    laters.push(told.json.msg);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

it("no address of a running pod is given again", { timeout: 300_000 }, async () => {
  const restoreSettleMs = 20_000;
  const [a, b] = [
    await fixture.daemon({ node: "node1", restoreSettleMs }),
    await fixture.daemon({ node: "node2", restoreSettleMs }),
  ];
  await given(a, { ...(await pod("warm", "node1")), config });
  await given(b, { ...(await pod("cold", "node2")), config });
  const copy = etcdCopy(lab);
  await copy.take();
  const p = await pod("p", "node1");
  const { addresses: mine } = await patiently(a, { ...p, config });
  await patiently(b, { ...(await pod("newer", "node2")), config });
  // So that the restored server is far from what daemons have seen: it accepts their watches there, and is silent.
  for (let i = 0; i < 2000; i += 1) {
    const body = { metadata: { annotations: { told: `in vain ${i}` } } };
    await fixture.admin.patch(configMaps, { namespace: "kube-system", name: stateName }, { type: "merge", body });
  }
  const seen = await version();
  await copy.restore();
  const q = await pod("q", "node2");
  const { addresses, laters } = await patiently(b, { ...q, config });
  expect(laters.join(" ")).toContain("restored from an older copy");
  expect(addresses).not.toEqual(mine);
  const held = (await fixture.held("network:etcd ")).map((line) => line.split(" ").slice(0, 2).join(" "));
  expect(held).toContain(`${mine[0]!.replace("/24", "")} default/p`);
  expect(await a.registry.metrics()).toContain("holdfast_reasserted_total 1");
  await tellState(fixture.admin, { paused: "told afterwards" });
  for (const daemonFixture of [a, b]) {
    const status = async () =>
      (await daemonFixture.ask({ command: "STATUS", config: { ...config, cniVersion: "1.1.0" } })).text;
    await expect.poll(status, { timeout: 10_000 }).toContain("told afterwards");
  }
  expect(await version()).toBeLessThan(seen);
});
