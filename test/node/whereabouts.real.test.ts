// The real whereabouts on the real kube-apiserver, beside our daemon and under our kinds. Its programs come from the
// environment (docs/testing.md): PEER_WHEREABOUTS the plugin, PEER_NODE_SLICE_CONTROLLER its controller of slices.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { networkAttachmentDefinitionCrd } from "../../src/api/network-attachment-definition.ts";
import { ipPools, networkAttachmentDefinitions, nodeSlicePools, nodes } from "../../src/cluster/resources.ts";
import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { defineResource } from "../../src/kube/resource.ts";
import { until } from "../conformance/api/until.ts";
import type { Cluster } from "../lab/cluster.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { Fixture } from "./fixture.ts";
import { flatFile, PeerWhereabouts } from "./peer-whereabouts.ts";
import { PlayedWhereabouts } from "./played-whereabouts.ts";
import { DaemonWriter, race, type RaceNetwork } from "./race.ts";

const plugin = process.env["PEER_WHEREABOUTS"] ?? "";
const controller = process.env["PEER_NODE_SLICE_CONTROLLER"] ?? "";
const rounds = Number(process.env["RACE_ROUNDS"] ?? 25);
const crds = defineResource({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

describe.skipIf(plugin === "" && controller === "")("the real whereabouts", () => {
  let lab: Cluster;
  let connection: Connection;
  let fixture: Fixture;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-peer-"));
  beforeAll(async () => {
    lab = await cluster();
    connection = connect(await loadKubeconfig({ path: lab.kubeconfig }));
    fixture = await Fixture.open({ transport: connection.transport, stop: async () => {} });
  }, coldStartTimeoutMs);
  afterAll(async () => {
    await fixture?.close();
    await connection?.[Symbol.asyncDispose]();
    await lab?.stop();
    rmSync(folder, { recursive: true });
  }, coldStartTimeoutMs);

  it.skipIf(plugin === "").each<RaceNetwork>([
    { name: "peer4", range: "10.87.0.0/27", size: 30, overlaps: true },
    { name: "peer6", range: "fd00:87::/123", size: 30, overlaps: true },
    { name: "peerown", range: "10.88.0.0/27", size: 30, overlaps: false },
    { name: "peerelsewhere", range: "10.89.0.0/27", size: 30, overlaps: true, namespace: "peer-pools" },
  ])("on $range beside our daemon: no address is given twice", { timeout: 3_600_000 }, async (network) => {
    const { namespace = "kube-system" } = network;
    await using _ = await fixture.beside(network.namespace);
    const daemonFixture = await fixture.daemon();
    const ours = Array.from({ length: 3 }, () => new DaemonWriter(daemonFixture));
    const real = new PeerWhereabouts({ program: plugin, kubeconfig: lab.kubeconfig, folder, namespace });
    const played = new PlayedWhereabouts({ transport: connection.transport, lease: false, namespace });
    const { given, duplicates, reasons } = await race(network, [...ours, real, real, played], rounds);
    expect({ duplicates, reasons }).toMatchObject({ duplicates: [] });
    expect(given[real.name] ?? 0, reasons.join(" | ")).toBeGreaterThan(rounds / 2);
    expect(given["holdfast"] ?? 0, reasons.join(" | ")).toBeGreaterThan(rounds);
    const pools = (await fixture.admin.list(ipPools)).items.filter(({ spec }) => spec.range === network.range);
    expect(pools.map(({ metadata }) => metadata.namespace)).toEqual([namespace]);
  });

  it.skipIf(controller === "")(
    "its node-slice-controller works under our NodeSlicePool definition",
    { timeout: 120_000 },
    async () => {
      const { admin } = fixture;
      await admin.create(crds, structuredClone(networkAttachmentDefinitionCrd));
      await admin.create(nodes, { metadata: { name: "sliced-1" } });
      const own = { network_name: "sliced", configuration_path: flatFile({ kubeconfig: lab.kubeconfig, folder }) };
      const ipam = { type: "whereabouts", range: "10.90.0.0/16", node_slice_size: "/24", ...own };
      const config = JSON.stringify({ cniVersion: "1.0.0", name: "sliced", type: "bridge", ipam });
      const definition = { metadata: { namespace: "kube-system", name: "sliced" }, spec: { config } };
      await until("the definition is taken", () =>
        admin.create(networkAttachmentDefinitions, definition).then(
          () => true,
          () => false,
        ),
      );
      const env = { WHEREABOUTS_NAMESPACE: "kube-system", PATH: process.env["PATH"] };
      const child: ChildProcess = spawn(controller, [`--kubeconfig=${lab.kubeconfig}`], { env, stdio: "ignore" });
      const ended = once(child, "close");
      try {
        await until("the node has its slice", async () => {
          const pool = await admin
            .get(nodeSlicePools, { namespace: "kube-system", name: "sliced" })
            .catch(() => undefined);
          return pool?.status?.allocations.some(({ nodeName }) => nodeName === "sliced-1") === true;
        });
      } finally {
        child.kill();
        await ended;
      }
    },
  );
});
