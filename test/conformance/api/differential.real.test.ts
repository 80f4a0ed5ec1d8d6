// The same random stories on the real server and on the embedded one. The seed is fixed, so that a run says the same
// twice; another one is tried with HOLDFAST_SEED, and more stories with HOLDFAST_STORIES. Not promised: that no other
// seed finds a difference. What it finds is printed as the shortest story, to be mended or to become a case.
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { openApi, type Api } from "../../../src/apiserver/api.ts";
import { volume } from "../../volume.ts";
import { get, post } from "./call.ts";
import { ApiClient } from "./client.ts";
import { definitions } from "./crd.ts";
import { configMaps, deployments, widgetPlot, widgetSchema } from "./differential-plots.ts";
import { difference, stories, tell } from "./differential.ts";
import { startRealServer } from "./real-server.ts";
import type { RunningServer } from "./suite.ts";
import { httpTransport } from "./transport.ts";
import { until } from "./until.ts";

const seed = Number(process.env["HOLDFAST_SEED"] ?? 20_261_115);
const numRuns = Number(process.env["HOLDFAST_STORIES"] ?? volume(25, 60));
/** 25 stories of at most 8 requests to each server take some 10 s; a busy machine gets twenty times that. */
const timeout = volume(240_000, 3 * 240_000);
const group = "stories.holdfast.test";
const namespace = "stories";

describe("the embedded API answers as the real one does", () => {
  let real: RunningServer | undefined;
  let embedded: Api | undefined;
  let hangUp: (() => Promise<void>) | undefined;
  let servers: readonly [ApiClient, ApiClient] | undefined;

  beforeAll(async () => {
    real = await startRealServer();
    const { transport, close } = httpTransport(real.url, real.caPem);
    hangUp = close;
    embedded = openApi({ path: ":memory:" });
    servers = [new ApiClient(transport, real.token), new ApiClient(embedded.transport, undefined)];
    for (const api of servers) await furnish(api);
  }, 180_000);

  afterAll(async () => {
    await hangUp?.();
    await real?.stop();
    embedded?.close();
  });

  for (const plot of [configMaps, widgetPlot(group), deployments]) {
    it(`in random stories of a ${plot.kind}`, { timeout }, async () => {
      let told: string | undefined;
      const alike = fc.asyncProperty(stories(plot), async (story) => {
        const [theirs = [], ours = []] = await Promise.all(
          (servers ?? []).map((api) => tell(api, plot, namespace, story)),
        );
        const found = difference(theirs, ours);
        told = found ?? told;
        expect(theirs.length).toBeGreaterThan(0);
        return found === undefined;
      });
      const { failed, counterexamplePath } = await fc.check(alike, { seed, numRuns });
      // The last story that failed is the shortest one that fast-check has found.
      if (failed)
        throw new Error(`The servers differ (seed ${seed}, path ${counterexamplePath ?? ""}):\n${told ?? ""}`);
    });
  }
});

async function furnish(api: ApiClient): Promise<void> {
  await api.done(post("/api/v1/namespaces", { metadata: { name: namespace } }));
  const names = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: widgetSchema } } };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  const spec = { group, scope: "Namespaced", names, versions };
  await api.done(post(definitions, { metadata: { name: `widgets.${group}` }, spec }));
  await until("widgets are served", async () => (await api.send(get(`/apis/${group}/v1/widgets`))).status === 200);
}
