// What a simulation relies on: the same run twice, and faults exactly where they were ordered.
import { describe, expect, test } from "vitest";

import type { JsonObject } from "../../src/apiserver/json.ts";
import { dig } from "../../src/apiserver/json.ts";
import { type Fault, withFaults } from "../../src/apiserver/testing/faults.ts";
import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { call, map, maps, names, open } from "./in-process.ts";

const ordered = (...faults: Fault[]) => {
  let isArmed = false;
  const api = withFaults(open(), () => (isArmed ? faults : []));
  return { api, arm: (on: boolean) => (isArmed = on) };
};

const makeOne = async () => {
  let seed = 1;
  const random = (size: number) => Uint8Array.from({ length: size }, () => (seed = (seed * 16807) % 2147483647) % 256);
  const api = open({ clock: new ManualClock(), random });
  await call(api, "POST", maps, { metadata: { generateName: "x-" } });
  return (await call(api, "GET", maps)).body;
};

describe("determinism", () => {
  test("with a clock and bytes of the caller's, two runs make the same objects", async () => {
    const [first, second] = [await makeOne(), await makeOne()];
    expect(names(first)).toHaveLength(1);
    expect(first).toEqual(second);
    expect(dig((first["items"] as JsonObject[])[0], "metadata", "creationTimestamp")).toBe("2026-01-01T00:00:00Z");
  });
});

describe("faults", () => {
  test("a dropped request is not carried out", async () => {
    const { api, arm } = ordered({ kind: "drop" });
    arm(true);
    await expect(call(api, "POST", maps, map("a"))).rejects.toMatchObject({ code: "ConnectionLost" });
    arm(false);
    expect(names((await call(api, "GET", maps)).body)).toEqual([]);
  });
  test("a lost reply is to a request that was carried out", async () => {
    const { api, arm } = ordered({ kind: "lose-reply" });
    arm(true);
    await expect(call(api, "POST", maps, map("a"))).rejects.toMatchObject({ code: "ConnectionLost" });
    arm(false);
    expect(names((await call(api, "GET", maps)).body)).toEqual(["a"]);
  });
  test("429 carries Retry-After, 500 is an internal error; neither is carried out", async () => {
    const busy = ordered({ kind: "refuse", status: 429, retryAfterSeconds: 3 });
    busy.arm(true);
    const refused = await call(busy.api, "POST", maps, map("a"));
    expect(refused).toMatchObject({
      status: 429,
      headers: { "retry-after": "3" },
      body: { reason: "TooManyRequests" },
    });
    busy.arm(false);
    expect(names((await call(busy.api, "GET", maps)).body)).toEqual([]);
    const broken = ordered({ kind: "refuse", status: 500 });
    broken.arm(true);
    expect(await call(broken.api, "GET", maps)).toMatchObject({ status: 500, body: { reason: "InternalError" } });
  });
  test("a delay lasts as long as the clock says", async () => {
    const clock = new ManualClock();
    const api = withFaults(open({ clock }), () => [{ kind: "delay", ms: 5000 }], clock);
    let isDone = false;
    const pending = call(api, "GET", maps).then((reply) => (isDone = reply.status === 200));
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(4999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDone).toBe(false);
    await clock.advance(1);
    await pending;
    expect(isDone).toBe(true);
  });
});

test("a key __proto__ is a key, escaped or not, and taints nothing", async () => {
  const api = open();
  for (const key of ["__proto__", "\\u005f_proto__"]) {
    const body = `{"metadata":{"name":"a"},"data":{"${key}":"v"},"tainted":{"${key}":{"tainted":"yes"}}}`;
    const response = await api.transport({ method: "POST", path: `${maps}?dryRun=All`, headers: {}, body });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString("utf8")).toContain('"data":{"__proto__":"v"}');
  }
  expect(({} as Record<string, unknown>)["tainted"]).toBeUndefined();
});
