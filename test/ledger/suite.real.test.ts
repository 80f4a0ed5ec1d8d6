// src/ledger on the real kube-apiserver.
import { afterAll, beforeAll } from "vitest";

import { connect, type Connection } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import type { Cluster } from "../lab/cluster.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { installDefinitions } from "./definitions.ts";
import { ledgerTests } from "./suite.ts";

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

ledgerTests({ transport: () => connection.transport });
