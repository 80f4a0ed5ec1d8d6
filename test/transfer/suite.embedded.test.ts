// Migrations on the embedded API, which has no policies: who heeds nothing can only be noticed.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { ipPools } from "../../src/cluster/resources.ts";
import { realClock } from "../../src/kube/clock.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { apply } from "../../src/transfer/apply.ts";
import { plainGoal } from "../../src/transfer/plan/testing/goal.ts";
import { fileStore } from "../../src/transfer/record/record-file.ts";
import { settleIn, system, village } from "./fixtures.ts";
import { transferSuite } from "./suite.ts";

transferSuite(
  "embedded API",
  async () => {
    const api = openApi({ path: ":memory:" });
    return { client: new KubeClient({ transport: api.transport }), stop: async () => api.close() };
  },
  (served) => {
    it("a writer that heeds neither pause nor lease is noticed, and nothing is moved", async () => {
      const { client } = served();
      await settleIn(client, village);
      const at = { namespace: system, name: "10.1.0.0-24" };
      const writing = new AbortController();
      const writer = (async () => {
        for (let n = 0; !writing.signal.aborted; n++) {
          const body = { spec: { allocations: { "20": { id: `sandbox-${n}`, podref: "blue/busy" } } } };
          await client.patch(ipPools, at, { type: "merge", body });
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      })();
      const migration = apply({
        client,
        clock: realClock,
        store: fileStore(join(mkdtempSync(join(tmpdir(), "holdfast-migrate-")), "record.json")),
        systemNamespace: system,
        newId: () => "noticing",
        say: () => {},
        quietMs: { fenced: 500, unfenced: 500 },
        signal: new AbortController().signal,
        goal: { ...plainGoal, to: "named" },
        editDefinitions: true,
      });
      await expect(migration).rejects.toMatchObject({
        code: "not-quiet",
        message: expect.stringContaining("IPPool kube-system/10.1.0.0-24 still change") as string,
      });
      writing.abort();
      await writer;
      expect((await client.list(ipPools)).items.map(({ metadata }) => metadata.name)).toContain("10.1.0.0-24");
    });
  },
);
