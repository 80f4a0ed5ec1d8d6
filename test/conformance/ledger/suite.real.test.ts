// The reservation ledger on the real kube-apiserver.
import { afterAll, beforeAll } from "vitest";

import { connect, type Connection } from "../../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../../src/kube/config/kubeconfig.ts";
import type { Cluster } from "../../lab/cluster.ts";
import { cluster, coldStartTimeoutMs } from "../../lab/start.ts";
import { installDefinitions } from "../../ledger/definitions.ts";
import { amendOnServers } from "./amend-on-servers.ts";
import { amendConformance } from "./amend.ts";
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

const reservations = () =>
  apiHarness({ transport: connection.transport, domains: ["network:", "network:red", "network:blue"] });
const holds = () =>
  apiHarness({ transport: connection.transport, domains: ["pool:a/10.0.0.0-24", "pool:a/red", "vm-network:b/red"] });

ledgerConformance("reservations on the real API server", reservations);
ledgerConformance("Holds on the real API server", holds);
amendConformance("reservations on the real API server", reservations);
amendConformance("Holds on the real API server", holds);
amendOnServers("reservations on the real API server", reservations);
amendOnServers("Holds on the real API server", holds);
