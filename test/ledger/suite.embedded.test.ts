// src/ledger on the embedded API, in the process.
import { afterAll, beforeAll } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { installDefinitions } from "./definitions.ts";
import { ledgerTests } from "./suite.ts";

const api = openApi({ path: ":memory:" });
beforeAll(() => installDefinitions(new KubeClient({ transport: api.transport })));
afterAll(() => api.close());

ledgerTests({ transport: () => api.transport });
