import { Registry } from "prom-client";
import { afterEach, describe, expect, test } from "vitest";

import { freePort } from "../../../test/lab/port.ts";
import { Informer } from "../cache/informer.ts";
import { Elector, LeadershipLostError } from "../leader.ts";
import { Controller } from "../queue/controller.ts";
import { defineResource } from "../resource.ts";
import { KubeClient } from "../rest.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { status } from "../testing/fake-transport.ts";
import { ManualClock, settle } from "../testing/manual-clock.ts";
import { HealthServer } from "./health.ts";
import { Manager, type ManagerOptions } from "./manager.ts";
import { KubeMetrics } from "./metrics.ts";
import { type Runnable, runStages, ShutdownTimeoutError } from "./stages.ts";

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

function noted(name: string, story: string[]): Runnable {
  return {
    name,
    async run(signal) {
      story.push(`${name} up`);
      await untilAborted(signal);
      story.push(`${name} down`);
    },
  };
}

describe("stages", () => {
  test("start in order, each when the one before is ready; stop in reverse", async () => {
    const story: string[] = [];
    const clock = new ManualClock();
    const stop = new AbortController();
    let makeReady: (() => void) | undefined;
    const slow: Runnable = {
      name: "slow",
      startsSlowly: true,
      async run(signal, ready) {
        story.push("slow up");
        makeReady = ready;
        await untilAborted(signal);
        story.push("slow down");
      },
    };
    const run = runStages([[slow], [noted("a", story), noted("b", story)], [noted("last", story)]], {
      signal: stop.signal,
      clock,
      graceMs: 1000,
      onReady: () => story.push("ready"),
    });
    await settle();
    expect(story).toEqual(["slow up"]);
    makeReady?.();
    await settle();
    expect(story).toEqual(["slow up", "a up", "b up", "last up", "ready"]);
    story.length = 0;
    stop.abort();
    await run;
    expect(story).toEqual(["last down", "a down", "b down", "slow down"]);
    expect(clock.pending).toBe(0);
  });

  test("one that fails stops all the others, and its error is the result", async () => {
    const story: string[] = [];
    const broken: Runnable = { name: "broken", run: () => Promise.reject(new Error("no disk")) };
    const run = runStages([[noted("a", story)], [broken], [noted("never", story)]], {
      signal: new AbortController().signal,
      clock: new ManualClock(),
      graceMs: 1000,
    });
    await expect(run).rejects.toThrow("no disk");
    expect(story).toEqual(["a up", "a down"]);
  });

  test("one that returns early is done, not failed", async () => {
    const stop = new AbortController();
    const run = runStages([[{ name: "once", run: () => Promise.resolve() }]], {
      signal: stop.signal,
      clock: new ManualClock(),
      graceMs: 1000,
    });
    await settle();
    stop.abort();
    await run;
  });

  test("one grace budget for all; who overstays is named, and the rest is stopped all the same", async () => {
    const story: string[] = [];
    const clock = new ManualClock();
    const stop = new AbortController();
    const stuck: Runnable = { name: "stuck", run: () => new Promise(() => {}) };
    const run = runStages([[noted("first", story)], [stuck]], { signal: stop.signal, clock, graceMs: 5000 });
    const outcome = run.catch((error: unknown) => error);
    await settle();
    stop.abort();
    await clock.advance(4999);
    expect(story).toEqual(["first up"]);
    await clock.advance(1);
    const error = await outcome;
    expect(error).toBeInstanceOf(ShutdownTimeoutError);
    expect(String(error)).toContain("stuck");
    expect(story).toEqual(["first up", "first down"]);
  });

  test("a signal that comes while a stage is starting ends it", async () => {
    const stop = new AbortController();
    const never: Runnable = { name: "never ready", startsSlowly: true, run: untilAborted };
    const run = runStages([[never]], { signal: stop.signal, clock: new ManualClock(), graceMs: 1000 });
    await settle();
    stop.abort();
    await run;
  });
});

describe("manager", () => {
  const pods = defineResource({ group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true });
  let end: (() => Promise<void>) | undefined;
  afterEach(async () => end?.());

  function started(make: (clients: { client: KubeClient; clock: ManualClock; api: FakeApi }) => ManagerOptions) {
    const clock = new ManualClock();
    const api = new FakeApi();
    const client = new KubeClient({ transport: api.transport, clock });
    const ports = new Map<string, number>();
    const manager = new Manager({
      clock,
      health: { host: "127.0.0.1" },
      onListen: (what, port) => ports.set(what, port),
      ...make({ client, clock, api }),
    });
    const stop = new AbortController();
    const state = { error: undefined as unknown };
    const run = manager.run(stop.signal).catch((error: unknown) => (state.error = error));
    end = async () => {
      stop.abort();
      await run;
      end = undefined;
    };
    const listening = async () => {
      while (!ports.has("health")) await settle();
      return ports.get("health")!;
    };
    const get = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${await listening()}${path}`);
      return { status: response.status, text: await response.text() };
    };
    return { clock, api, state, get, run, ports };
  }

  test("health is served before the work begins, whether somebody wants to hear the port or not", async () => {
    const port = await freePort();
    const stop = new AbortController();
    const seen: number[] = [];
    const look = async () => {
      seen.push((await fetch(`http://127.0.0.1:${port}/healthz`)).status);
      stop.abort();
    };
    await new Manager({ health: { host: "127.0.0.1", port }, runnables: [{ name: "look", run: look }] }).run(
      stop.signal,
    );
    expect(seen).toEqual([200]);
  });

  test("ready when the informers are; not ready says why", async () => {
    let allowed = false;
    const { get, clock, api } = started(({ client, clock: time }) => ({
      informers: [new Informer({ client, resource: pods, clock: time, random: () => 0 })],
    }));
    api.fault = () => (allowed ? undefined : status(403, "Forbidden", "pods is forbidden"));
    expect((await get("/healthz")).status).toBe(200);
    const before = await get("/readyz");
    expect(before.status).toBe(503);
    expect(before.text).toContain("pods is forbidden");
    allowed = true;
    await clock.advance(5000);
    expect(await get("/readyz")).toMatchObject({ status: 200 });
    expect((await get("/other")).status).toBe(404);
  });

  test("not ready any more as soon as something has failed, while the rest is still stopping", async () => {
    const fail = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const { get, run, state } = started(() => ({
      runnables: [
        { name: "broken", run: () => fail.promise },
        { name: "slow", run: () => finish.promise },
      ],
    }));
    expect((await get("/readyz")).status).toBe(200);
    fail.reject(new Error("no disk"));
    await settle();
    expect((await get("/readyz")).text).toContain("the process is stopping");
    finish.resolve();
    await run;
    expect(String(state.error)).toContain("no disk");
  });

  test("checks of one's own are asked; one that hangs is named", async () => {
    const { get, clock } = started(() => ({
      healthz: { journal: () => Promise.reject(new Error("disk full")) },
      readyz: { slow: () => new Promise(() => {}) },
    }));
    expect(await get("/healthz")).toMatchObject({
      status: 503,
      text: expect.stringContaining("[-] journal failed: disk full") as string,
    });
    const pending = get("/readyz");
    for (let i = 0; i < 50 && clock.pending === 0; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    await clock.advance(800);
    expect((await pending).text).toContain("[-] slow failed");
  });

  test("metrics tell of calls, controllers and leadership", async () => {
    const metrics = new KubeMetrics(new Registry());
    const { get, clock } = started(({ client, clock: time }) => {
      const controller = new Controller({
        name: "pools",
        clock: time,
        observer: metrics.controller("pools"),
        reconcile: async (key) => {
          if (key === "bad") throw new Error("bad");
        },
      });
      controller.enqueue("good");
      controller.enqueue("bad");
      const elector = new Elector({
        client,
        namespace: "n",
        name: "l",
        identity: "me",
        clock: time,
        onChange: (leads) => metrics.leading("l", leads),
      });
      return { metrics, runnables: [controller], leader: { elector, runnables: [] } };
    });
    metrics.call({ method: "GET", status: 200, durationMs: 5 });
    await get("/healthz");
    await clock.advance(6);
    const { text } = await get("/metrics");
    expect(text).toContain('controller_runtime_reconcile_total{controller="pools",result="success"} 1');
    expect(text).toContain('controller_runtime_reconcile_total{controller="pools",result="error"} 2');
    expect(text).toContain('rest_client_requests_total{method="GET",code="200"} 1');
    expect(text).toContain('leader_election_master_status{name="l"} 1');
    expect(text).toContain('workqueue_retries_total{name="pools"} 2');
  });

  test("order: informers, plain work, leader work; the reverse at the end, the lease released last", async () => {
    const story: string[] = [];
    const { clock, api, get } = started(({ client, clock: time }) => ({
      informers: [new Informer({ client, resource: pods, clock: time })],
      runnables: [noted("plain", story)],
      leader: {
        elector: new Elector({ client, namespace: "n", name: "l", identity: "me", clock: time }),
        runnables: [noted("leader", story)],
      },
    }));
    await get("/healthz");
    while (!story.includes("leader up")) {
      await clock.advance(10);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(story).toEqual(["plain up", "leader up"]);
    await end!();
    expect(story).toEqual(["plain up", "leader up", "leader down", "plain down"]);
    expect(api.requests.at(-1)!.method).toBe("PUT");
    expect(String(api.requests.at(-1)!.body)).toContain('"holderIdentity":""');
  });

  test("a lost lease stops everything and is the result", async () => {
    const story: string[] = [];
    const { clock, api, state, run, get } = started(({ client, clock: time }) => ({
      runnables: [noted("plain", story)],
      leader: {
        elector: new Elector({ client, namespace: "n", name: "l", identity: "me", clock: time }),
        runnables: [noted("leader", story)],
      },
    }));
    await get("/healthz");
    await clock.advance(100);
    api.put("/apis/coordination.k8s.io/v1/namespaces/n/leases/l", {
      metadata: {},
      spec: { holderIdentity: "thief", leaseDurationSeconds: 15 },
    });
    await clock.advance(3000);
    await run;
    expect(state.error).toBeInstanceOf(LeadershipLostError);
    expect(story).toEqual(["plain up", "leader up", "leader down", "plain down"]);
  });

  test("a port that is taken is told as what it is", async () => {
    const server = new HealthServer({ healthz: () => ({}), readyz: () => ({}), host: "127.0.0.1" });
    const port = await server.listen();
    const { state, run } = started(() => ({ health: { host: "127.0.0.1", port } }));
    await run;
    expect(String(state.error)).toContain(
      `127.0.0.1:${port} is in use by another program: give another --metrics-port`,
    );
    await server.close();
  });
});
