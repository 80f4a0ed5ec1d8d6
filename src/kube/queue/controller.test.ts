import { afterEach, describe, expect, test } from "vitest";

import { Informer } from "../cache/informer.ts";
import { ApiError } from "../errors.ts";
import { LeadershipLostError } from "../leader.ts";
import { keyOf } from "../meta.ts";
import { defineResource } from "../resource.ts";
import { KubeClient } from "../rest.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { ManualClock, settle } from "../testing/manual-clock.ts";
import { Controller, type ControllerOptions, type Outcome, type Reconcile } from "./controller.ts";

let stop: AbortController | undefined;
let run: Promise<void> | undefined;
afterEach(async () => {
  stop?.abort();
  await run;
  stop = run = undefined;
});

function started(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const clock = new ManualClock();
  const outcomes: Outcome[] = [];
  const errors: string[] = [];
  const controller = new Controller({
    name: "test",
    reconcile,
    clock,
    observer: { reconciled: (outcome) => outcomes.push(outcome) },
    onError: (error, key) => errors.push(`${key}: ${error.message}`),
    ...options,
  });
  stop = new AbortController();
  run = controller.run(stop.signal);
  return { clock, controller, outcomes, errors };
}

describe("results", () => {
  test("nothing: done until the next event", async () => {
    const calls: string[] = [];
    const { controller, clock, outcomes } = started(async (key) => void calls.push(key));
    controller.enqueue("a");
    await clock.advance(3_600_000);
    expect(calls).toEqual(["a"]);
    expect(outcomes).toEqual(["success"]);
  });

  test("requeueAfterMs: again after that time, without counting as a failure", async () => {
    const failures: number[] = [];
    const { controller, clock, outcomes } = started(async (_key, context) => {
      failures.push(context.failures);
      return { requeueAfterMs: 5000 };
    });
    controller.enqueue("a");
    await clock.advance(10_000);
    expect(failures).toEqual([0, 0, 0]);
    expect(outcomes).toEqual(["requeue-after", "requeue-after", "requeue-after"]);
  });

  test("a server that asks to be left alone is: not before its time, and later where the backoff is longer", async () => {
    const times: number[] = [];
    const { controller, clock } = started(async () => {
      times.push(clock.monotonicMs());
      const words = "too many";
      throw new ApiError("too-many-requests", words, {
        status: 429,
        retryAfterMs: times.length < 3 ? 20_000 : undefined,
      });
    });
    controller.enqueue("a");
    await clock.advance(40_100);
    expect(times.map((time) => time - times[0]!).slice(0, 4)).toEqual([0, 20_000, 40_000, 40_020]);
  });

  test("a throw: again with backoff, and the count of failures", async () => {
    const failures: number[] = [];
    const { controller, clock, errors } = started(async (_key, context) => {
      failures.push(context.failures);
      if (failures.length < 4) throw new Error("not yet");
    });
    controller.enqueue("a");
    await clock.advance(5 + 10 + 20);
    expect(failures).toEqual([0, 1, 2, 3]);
    expect(errors).toEqual(["a: not yet", "a: not yet", "a: not yet"]);
    controller.enqueue("a");
    await settle();
    expect(failures.at(-1)).toBe(0); // success ended the backoff
  });

  test("panic-proof: what is thrown need not be an Error, nor thrown asynchronously", async () => {
    let calls = 0;
    const reconcile = ((key: string) => {
      calls++;
      if (calls === 1) throw key as unknown as Error;
      return Promise.resolve();
    }) as Reconcile;
    const { controller, clock, outcomes, errors } = started(reconcile);
    controller.enqueue("a");
    await clock.advance(100);
    expect(outcomes).toEqual(["error", "success"]);
    expect(errors).toEqual(["a: a"]);
  });

  test("panic-proof: what is thrown may even be something that cannot be put into words", async () => {
    let calls = 0;
    const { controller, clock, outcomes } = started(async () => {
      if (++calls === 1) throw Object.create(null);
    });
    controller.enqueue("a");
    await clock.advance(100);
    expect(outcomes).toEqual(["error", "success"]);
  });

  test("a listener of ours that throws is told as the failure of the controller", async () => {
    const { controller } = started(() => Promise.reject(new Error("reconcile")), {
      onError: () => {
        throw new Error("the log is full");
      },
    });
    const failed = run;
    run = undefined;
    controller.enqueue("a");
    await expect(failed).rejects.toThrow("the log is full");
  });

  test("requeueAfterMs that is not a number: an error with backoff, and nothing behind it is held up", async () => {
    const { controller, clock, outcomes } = started(async (key) => {
      if (key === "nan") return { requeueAfterMs: Date.parse("never") };
      return { requeueAfterMs: 1000 };
    });
    controller.enqueue("nan");
    controller.enqueue("good");
    await clock.advance(1100);
    expect(outcomes.filter((each) => each === "requeue-after")).toHaveLength(2);
    // 5 ms, doubling: 8 tries in 1.1 s.
    expect(outcomes.filter((each) => each === "error")).toHaveLength(8);
  });
});

describe("workers", () => {
  test("reconciles that wait for nothing let the event loop have its turn", async () => {
    const order: string[] = [];
    // Each takes 4 ms of a clock that nobody else moves.
    let nowMs = 0;
    const clock = Object.assign(new ManualClock(), { monotonicMs: () => (nowMs += 2) });
    const { controller } = started(async (key) => void order.push(key), { clock });
    for (let i = 0; i < 100; i++) controller.enqueueBehind(`settled${i}`);
    // As a watch event would.
    setImmediate(() => controller.enqueue("changed"));
    while (!order.includes("settled99")) await new Promise((resolve) => setImmediate(resolve));
    expect(order).toHaveLength(101);
    expect(order.indexOf("changed")).toBeLessThan(50);
  });

  test("and many workers let it no less than one", async () => {
    const order: string[] = [];
    let nowMs = 0;
    const clock = Object.assign(new ManualClock(), { monotonicMs: () => (nowMs += 0.2) });
    const { controller } = started(async (key) => void order.push(key), { clock, concurrency: 16 });
    for (let i = 0; i < 2000; i++) controller.enqueueBehind(`settled${i}`);
    const turns: number[] = [];
    for (let before = 0; order.length < 2000; before = order.length) {
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(order.length - before);
    }
    // 10 ms are at most 50 looks at the clock, and each worker has one reconcile under way.
    expect(Math.max(...turns)).toBeLessThan(50 + 16);
  });

  test("never the same key twice at once, different keys at once up to the concurrency", async () => {
    const running: string[] = [];
    const releases: (() => void)[] = [];
    const { controller } = started(
      async (key) => {
        expect(running).not.toContain(key);
        running.push(key);
        await new Promise<void>((resolve) => releases.push(resolve));
        running.splice(running.indexOf(key), 1);
      },
      { concurrency: 2 },
    );
    for (const key of ["a", "b", "c"]) controller.enqueue(key);
    await settle();
    expect(running).toEqual(["a", "b"]);
    controller.enqueue("a");
    await settle();
    expect(running).toEqual(["a", "b"]);
    while (releases.length > 0) {
      releases.shift()!();
      await settle();
    }
    expect(running).toEqual([]);
  });

  test("a reconcile beyond its time hears it, and keeps its key until it returns", async () => {
    const heard: string[] = [];
    const { controller, clock } = started(
      async (key, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        heard.push(key);
      },
      { reconcileTimeoutMs: 1000 },
    );
    controller.enqueue("a");
    await clock.advance(999);
    expect(heard).toEqual([]);
    await clock.advance(1);
    expect(heard).toEqual(["a"]);
  });
});

describe("shutdown", () => {
  test("what is queued is still done, without an aborted signal", async () => {
    const done: string[] = [];
    const { controller, clock } = started(async (key, { signal }) => {
      await settle(1);
      signal.throwIfAborted();
      done.push(key);
    });
    for (const key of ["a", "b", "c"]) controller.enqueue(key);
    stop!.abort();
    await run;
    expect(done).toEqual(["a", "b", "c"]);
    expect(clock.pending).toBe(0);
  });

  test("after the grace time the running reconcile is aborted and the rest is left", async () => {
    const begun: string[] = [];
    const { controller, clock } = started(
      async (key, { signal }) => {
        begun.push(key);
        await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
      },
      { shutdownGraceMs: 5000 },
    );
    controller.enqueue("a");
    controller.enqueue("b");
    await settle();
    stop!.abort();
    await clock.advance(5000);
    await run;
    expect(begun).toEqual(["a"]);
    expect(clock.pending).toBe(0);
  });

  test("a lost lease: the running reconcile is aborted at once, and nothing more is begun", async () => {
    const begun: string[] = [];
    const { controller, clock } = started(async (key, { signal }) => {
      begun.push(key);
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    controller.enqueue("a");
    controller.enqueue("b");
    await settle();
    stop!.abort(new LeadershipLostError("lost"));
    await clock.advance(1);
    expect(begun).toEqual(["a"]);
    expect(clock.pending).toBe(0);
    await run;
  });
});

test("an informer's events become keys", async () => {
  const seen: string[] = [];
  const { controller, clock } = started(async (key) => void seen.push(key));
  const api = new FakeApi();
  const client = new KubeClient({ transport: api.transport, clock });
  const pods = defineResource({ group: "", version: "v1", plural: "pods", kind: "Pod", namespaced: true });
  const informer = new Informer({ client, resource: pods, clock });
  informer.handle(({ object }) => controller.enqueue(keyOf(object)));
  informer.handle(({ object }) => controller.enqueue(`node/${object.metadata.labels?.["node"] ?? "none"}`));
  const ending = new AbortController();
  const running = informer.run(ending.signal);
  api.put("/api/v1/namespaces/x/pods/p", { metadata: { labels: { node: "n1" } } });
  await settle(6);
  expect(seen).toEqual(["x/p", "node/n1"]);
  ending.abort();
  await running;
});
