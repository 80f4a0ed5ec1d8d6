import { Registry } from "prom-client";
import { expect, it } from "vitest";

import { KubeMetrics } from "../../src/kube/process/metrics.ts";
import { readCalls } from "./bill.ts";

it("reads the calls that a controller counts of itself", async () => {
  const metrics = new KubeMetrics(new Registry());
  for (const status of [200, 200, 409]) metrics.call({ method: "PATCH", status, durationMs: 1 });
  metrics.call({ method: "WATCH", status: 0, durationMs: 1 });
  const text = (await Array.fromAsync(metrics.expose().text)).join("");
  expect(readCalls(text)).toEqual({ "PATCH 200": 2, "PATCH 409": 1, "WATCH 0": 1 });
});
