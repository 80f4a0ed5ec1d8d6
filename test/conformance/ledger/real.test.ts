// The reservation ledger on the real kube-apiserver.
import { afterAll, beforeAll } from "vitest";

import { connect, type Connection } from "../../../src/kube/connect.ts";
import { loadKubeconfig } from "../../../src/kube/kubeconfig.ts";
import type { Cluster } from "../../lab/cluster.ts";
import { cluster, coldStartTimeoutMs } from "../../lab/start.ts";
import { installDefinitions } from "../../ledger/definitions.ts";
import { apiHarness } from "./api-harness.ts";
import { ledgerConformance } from "./suite.ts";

let lab: Cluster;
let connection: Connection;
beforeAll(async () => {
  lab = await cluster();
  connection = connect(await loadKubeconfig({ path: lab.kubeconfig }));
  await installDefinitions(connection.client);
}, coldStartTimeoutMs);
afterAll(async () => {
  await connection?.[Symbol.asyncDispose]();
  await lab?.stop();
}, coldStartTimeoutMs);

ledgerConformance("reservations on the real API server", () =>
  apiHarness({ transport: connection.transport, domains: ["network:", "network:red", "network:blue"] }),
);
ledgerConformance("Holds on the real API server", () =>
  apiHarness({ transport: connection.transport, domains: ["pool:a/10.0.0.0-24", "pool:a/red", "vm-network:b/red"] }),
);
