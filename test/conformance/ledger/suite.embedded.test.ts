// The reservation ledger on the embedded API, in the process.
import { afterAll, beforeAll } from "vitest";

import { openApi } from "../../../src/apiserver/api.ts";
import { KubeClient } from "../../../src/kube/rest.ts";
import { installDefinitions } from "../../ledger/definitions.ts";
import { amendOnServers } from "./amend-on-servers.ts";
import { amendConformance } from "./amend.ts";
import { apiHarness } from "./api-harness.ts";
import { ledgerConformance } from "./suite.ts";

const api = openApi({ path: ":memory:" });
beforeAll(() => installDefinitions(new KubeClient({ transport: api.transport })));
afterAll(() => api.close());

const reservations = () =>
  apiHarness({ transport: api.transport, domains: ["network:", "network:red", "network:blue"] });
const holds = () =>
  apiHarness({ transport: api.transport, domains: ["pool:a/10.0.0.0-24", "pool:a/red", "vm-network:b/red"] });

ledgerConformance("reservations on the embedded API", reservations);
ledgerConformance("Holds on the embedded API", holds);
amendConformance("reservations on the embedded API", reservations);
amendConformance("Holds on the embedded API", holds);
amendOnServers("reservations on the embedded API", reservations);
amendOnServers("Holds on the embedded API", holds);
