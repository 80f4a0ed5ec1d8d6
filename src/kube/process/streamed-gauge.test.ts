// The text of a streamed gauge against prom-client's own of the same samples, through a scrape.
import fc from "fast-check";
import { Gauge, Registry } from "prom-client";
import { expect, test } from "vitest";

import { HealthServer } from "./health.ts";
import { KubeMetrics } from "./metrics.ts";
import { type Sample, StreamedGauge } from "./streamed-gauge.ts";

const name = "nics";
const help = 'One per NIC, "quoted" \\ and\nbroken.';
const sample = fc.record({
  labels: fc.record({ ip: fc.string({ unit: "grapheme" }), mac: fc.string() }),
  value: fc.integer(),
});

test("a streamed gauge says what a gauge says", async () => {
  const isOne = (a: Sample<"ip" | "mac">) => JSON.stringify(a.labels);
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(sample, { selector: isOne }), async (samples) => {
      const registry = new Registry();
      const gauge = new Gauge({ name, help, labelNames: ["ip", "mac"], registers: [registry] });
      for (const { labels, value } of samples) gauge.set(labels, value);
      const streamed = new StreamedGauge({ name, help, registry: new Registry(), samples: () => samples });
      expect([...streamed.lines()].join("")).toBe(`${await registry.getSingleMetricAsString(name)}\n`);
      expect((await streamed.get()).values).toEqual(samples);
    }),
    { numRuns: 50 },
  );
});

test("a scrape of many series comes in pieces, whole, between the others; one that fails on the way is cut short", async () => {
  const registry = new Registry();
  const metrics = new KubeMetrics(registry);
  const series = 20_000;
  let isBroken = false;
  function* samples(): Iterable<Sample<"nic">> {
    for (let nic = 0; nic < series; nic++) yield { labels: { nic: `nic-${nic}` }, value: 1 };
    if (isBroken) throw new Error("gone");
  }
  const streamed = new StreamedGauge({ name, help: "NICs.", registry, samples });
  expect(registry.getSingleMetric(name)).toBe(streamed);
  const after = new Gauge({ name: "after", help: "The last.", registers: [registry] });
  after.set(7);
  const pieces = await Array.fromAsync(metrics.expose().text);
  expect(pieces.length).toBeGreaterThan(5);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(70_000);

  const server = new HealthServer({ healthz: () => ({}), readyz: () => ({}), metrics, host: "127.0.0.1" });
  const url = `http://127.0.0.1:${await server.listen()}/metrics`;
  try {
    const answer = await fetch(url);
    expect(answer.headers.get("content-type")).toBe(registry.contentType);
    const text = await answer.text();
    expect(text.trim()).toBe((await registry.metrics()).trim());
    expect(text.match(/^nics\{/gm)).toHaveLength(series);
    expect(text).toMatch(/^after 7$/m);
    expect(await (await fetch(url, { method: "HEAD" })).text()).toBe("");
    isBroken = true;
    await expect(fetch(url).then((broken) => broken.text())).rejects.toThrow();
  } finally {
    await server.close();
  }
});
