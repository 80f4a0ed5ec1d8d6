// The behaviours are those of client-go's leaderelection tests.
import { afterEach, describe, expect, test } from "vitest";

import { Elector, type ElectorOptions, LeadershipLostError } from "./leader.ts";
import type { Lease } from "./lease.ts";
import { KubeClient } from "./rest.ts";
import { FakeApi } from "./testing/fake-api.ts";
import { json, status } from "./testing/fake-transport.ts";
import { ManualClock, settle } from "./testing/manual-clock.ts";

const path = "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases/controller";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function world() {
  const clock = new ManualClock();
  const api = new FakeApi();
  const lease = async () => {
    const client = new KubeClient({ transport: api.transport, clock });
    return (JSON.parse(await client.raw(path)) as Lease).spec!;
  };
  const candidate = (
    identity: string,
    options: Partial<ElectorOptions> = {},
    lead?: (signal: AbortSignal) => Promise<void>,
  ) => {
    /** A server of its own view, so that one candidate can be cut off. */
    const link = { up: true };
    const client = new KubeClient({
      transport: (request) => (link.up ? api.transport(request) : new Promise(() => {})),
      clock,
    });
    const elector = new Elector({
      client,
      namespace: "holdfast",
      name: "controller",
      identity,
      clock,
      random: () => 0,
      ...options,
    });
    const state = { leading: false, error: undefined as unknown };
    const stop = new AbortController();
    const work =
      lead ??
      ((signal: AbortSignal) =>
        new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })));
    const run = elector
      .run(stop.signal, async (signal) => {
        state.leading = true;
        try {
          await work(signal);
        } finally {
          state.leading = false;
        }
      })
      .catch((error: unknown) => (state.error = error));
    const end = async () => {
      stop.abort();
      await clock.advance(20_000);
      await run;
    };
    ends.push(end);
    return { state, link, end, stop, run, elector };
  };
  return { clock, api, lease, candidate };
}

describe("acquire", () => {
  test("acquire from no object: creates the lease", async () => {
    const { candidate, lease } = world();
    const a = candidate("a");
    await settle();
    expect(a.state.leading).toBe(true);
    expect(await lease()).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect((await lease()).renewTime).toMatch(/^\d{4}-.*\.\d{6}Z$/);
  });

  test("don't acquire from led, acked object", async () => {
    const { candidate, clock } = world();
    const a = candidate("a");
    await settle();
    const b = candidate("b");
    await clock.advance(120_000);
    expect([a.state.leading, b.state.leading]).toEqual([true, false]);
    expect(b.elector.leader).toBe("a");
  });

  test("acquire from unled object: a released lease is free at once", async () => {
    const { api, candidate, lease } = world();
    api.put(path, { metadata: {}, spec: { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 4 } });
    const a = candidate("a");
    await settle(4);
    expect(a.state.leading).toBe(true);
    expect((await lease()).leaseTransitions).toBe(5);
  });

  test("acquire from led, unacked object: only after its duration as seen here, whatever its own times say", async () => {
    const { api, candidate, clock } = world();
    const long = "2001-01-01T00:00:00.000000Z";
    api.put(path, { metadata: {}, spec: { holderIdentity: "dead", leaseDurationSeconds: 15, renewTime: long } });
    const a = candidate("a");
    await clock.advance(14_000);
    expect(a.state.leading).toBe(false);
    await clock.advance(4000);
    expect(a.state.leading).toBe(true);
  });

  test("two candidates at once: exactly one leads", async () => {
    const { candidate, clock } = world();
    const both = [candidate("a"), candidate("b")];
    await clock.advance(10_000);
    expect(both.filter(({ state }) => state.leading)).toHaveLength(1);
  });

  test("a server that answers with errors is asked again", async () => {
    const { api, candidate, clock } = world();
    const errors: Error[] = [];
    api.fault = () => status(500, "InternalError");
    const a = candidate("a", { onError: (error) => errors.push(error) });
    await clock.advance(10_000);
    expect(a.state.leading).toBe(false);
    expect(errors.length).toBeGreaterThan(2);
    api.fault = () => undefined;
    await clock.advance(2000);
    expect(a.state.leading).toBe(true);
  });

  test("a creation whose answer was lost is found to be ours", async () => {
    const { api, candidate, clock } = world();
    let lost = false;
    api.afterwards = ({ method }) => {
      if (method !== "POST" || lost) return;
      lost = true;
      throw new Error("reset");
    };
    const a = candidate("a");
    await clock.advance(3000);
    expect(a.state.leading).toBe(true);
  });
});

describe("renew", () => {
  test("renew already acquired object: with one write each time, acquireTime kept", async () => {
    const { api, candidate, clock, lease } = world();
    candidate("a");
    await settle();
    const before = await lease();
    const reads = api.count("GET");
    await clock.advance(20_000);
    expect(api.count("GET")).toBe(reads);
    expect(api.count("PUT")).toBe(10);
    const after = await lease();
    expect(after.acquireTime).toBe(before.acquireTime);
    expect(after.renewTime).not.toBe(before.renewTime);
  });

  test("hiccups shorter than the deadline do not matter", async () => {
    const { candidate, clock } = world();
    const a = candidate("a");
    await settle();
    a.link.up = false;
    await clock.advance(8000);
    a.link.up = true;
    await clock.advance(30_000);
    expect(a.state.leading).toBe(true);
  });

  test("lost lease: stops within the renew deadline, before another can begin", async () => {
    const { candidate, clock } = world();
    const a = candidate("a");
    await settle();
    const b = candidate("b");
    await clock.advance(4000);
    a.link.up = false;
    let overlap = false;
    for (let i = 0; i < 40; i++) {
      await clock.advance(500);
      overlap ||= a.state.leading && b.state.leading;
    }
    expect(overlap).toBe(false);
    expect(a.state.error).toBeInstanceOf(LeadershipLostError);
    expect(b.state.leading).toBe(true);
  });

  test("lost lease: one that another has taken is given up at once", async () => {
    const { api, candidate, clock } = world();
    const a = candidate("a");
    await settle();
    api.put(path, { metadata: {}, spec: { holderIdentity: "thief", leaseDurationSeconds: 15 } });
    await clock.advance(2500);
    expect(a.state.leading).toBe(false);
    expect(String(a.state.error)).toContain('held by "thief"');
  });

  test("lost lease: one that is older than it was written is of a restored server, whose history the leader does not know", async () => {
    const { api, candidate, clock, lease } = world();
    const a = candidate("a");
    await settle();
    const standby = candidate("b");
    const copy = await lease();
    await clock.advance(6000);
    expect(a.state.leading).toBe(true);
    api.put(path, { metadata: {}, spec: { ...copy } });
    await clock.advance(2500);
    expect([a.state.leading, String(a.state.error)]).toEqual([false, expect.stringContaining("was restored")]);
    // What one that waits knows by its watches is of another history, too.
    expect(String(standby.state.error)).toContain("was restored");
  });

  test.each([
    ["has nobody lead", (copy: Lease["spec"]) => ({ ...copy, holderIdentity: "" })],
    ["is of before the lease was made", () => undefined],
  ])(
    "lost lease: a copy that %s ends the leader too; a hand may have deleted it, so that is no sign",
    async (_, of) => {
      const { api, candidate, clock, lease } = world();
      const notes: string[] = [];
      const onRestore = () => Promise.resolve(void notes.push("restored"));
      const a = candidate("a", { onRestore });
      await clock.advance(6000);
      const spec = of(await lease());
      if (spec === undefined) api.remove(path);
      else api.put(path, { metadata: {}, spec: { ...spec } });
      await clock.advance(2500);
      expect([a.state.leading, String(a.state.error)]).toEqual([false, expect.stringContaining("gone, or nobody's")]);
      expect(notes).toEqual([]);
    },
  );

  test("one that waits ends where the copy is of a leader before: what it follows is of another history", async () => {
    const { api, candidate, clock, lease } = world();
    const a = candidate("a");
    await settle();
    const copy = await lease();
    await a.end();
    candidate("b");
    await clock.advance(6000);
    const c = candidate("c");
    await clock.advance(6000);
    api.put(path, { metadata: {}, spec: { ...copy } });
    await clock.advance(6000);
    expect(String(c.state.error)).toContain("was restored");
  });

  test("a restore that cannot be noted ends the leader all the same", async () => {
    const { api, candidate, clock, lease } = world();
    let notes = 0;
    const onRestore = () => {
      notes += 1;
      return Promise.reject(new Error("away"));
    };
    const a = candidate("a", { onRestore });
    await settle();
    const copy = await lease();
    await clock.advance(6000);
    api.put(path, { metadata: {}, spec: { ...copy } });
    await clock.advance(2500);
    expect([a.state.leading, String(a.state.error)]).toEqual([false, expect.stringContaining("was restored")]);
    expect(notes).toBe(1);
  });

  test("a lease that was only touched, or renewed without an answer, stays", async () => {
    const { api, candidate, clock, lease } = world();
    const a = candidate("a");
    await clock.advance(4000);
    api.put(path, { metadata: { labels: { seen: "yes" } }, spec: { ...(await lease()) } });
    await clock.advance(2500);
    api.put(path, {
      metadata: {},
      spec: { ...(await lease()), renewTime: new Date(clock.wallMs()).toISOString().replace("Z", "000Z") },
    });
    await clock.advance(6000);
    expect([a.state.leading, a.state.error]).toEqual([true, undefined]);
  });

  test("work that does not stop when the lease is lost does not keep the error back", async () => {
    const { candidate, clock } = world();
    const a = candidate("a", {}, () => new Promise(() => {}));
    await settle();
    a.link.up = false;
    await clock.advance(14_999);
    expect(a.state.error).toBeUndefined();
    await clock.advance(1);
    expect(a.state.error).toBeInstanceOf(LeadershipLostError);
  });

  test("lost lease: the work hears of it when the renew deadline is over, not a retry period later", async () => {
    const { candidate, clock } = world();
    let aborted: AbortSignal | undefined;
    const a = candidate("a", {}, (signal) => {
      aborted = signal;
      return new Promise(() => {});
    });
    await settle();
    a.link.up = false;
    await clock.advance(9999);
    expect(aborted?.aborted).toBe(false);
    await clock.advance(1);
    expect(aborted?.aborted).toBe(true);
  });

  test("lost lease: a slow server's several answers to one try do not add up beyond the deadline", async () => {
    const { api, candidate, clock } = world();
    let aborted: AbortSignal | undefined;
    candidate("a", {}, (signal) => {
      aborted = signal;
      return new Promise(() => {});
    });
    await settle();
    // Somebody touches the lease all the time, and every answer takes four seconds.
    api.fault = async ({ method }) => {
      await new Promise<void>((resolve) => clock.after(4000, resolve));
      return method === "PUT" ? status(409, "Conflict") : undefined;
    };
    await clock.advance(10_000);
    expect(aborted?.aborted).toBe(true);
  });
});

describe("hand-over", () => {
  test("release on shutdown: the next leads at its next try, after the work has ended", async () => {
    const { candidate, clock, lease } = world();
    let endWork: (() => void) | undefined;
    const a = candidate("a", {}, () => new Promise<void>((resolve) => (endWork = resolve)));
    await settle();
    const b = candidate("b");
    await clock.advance(2000);
    a.stop.abort();
    await clock.advance(2000);
    expect((await lease()).holderIdentity).toBe("a"); // still working
    endWork?.();
    await settle(4);
    expect((await lease()).holderIdentity).toBe("");
    await clock.advance(2500);
    expect(b.state.leading).toBe(true);
    expect(a.state.error).toBeUndefined();
  });

  test("release on shutdown: also when a renewal under way was written without its answer", async () => {
    const { api, candidate, clock, lease } = world();
    const a = candidate("a");
    await settle();
    // The next renewal reaches the server, but its answer does not come.
    let held = false;
    api.afterwards = ({ method }) => {
      if (method !== "PUT" || held) return;
      held = true;
      a.stop.abort();
      throw new Error("reset");
    };
    await clock.advance(2500);
    await a.run;
    expect(held).toBe(true);
    expect((await lease()).holderIdentity).toBe("");
  });

  test("the lease is renewed while a shutdown lets the work finish: nobody else begins meanwhile", async () => {
    const { candidate, clock } = world();
    let endWork: (() => void) | undefined;
    const a = candidate("a", { shutdownGraceMs: 60_000 }, () => new Promise<void>((resolve) => (endWork = resolve)));
    await settle();
    const b = candidate("b");
    await clock.advance(2000);
    a.stop.abort();
    await clock.advance(40_000);
    expect([a.state.leading, b.state.leading]).toEqual([true, false]);
    endWork?.();
    await clock.advance(2500);
    expect([a.state.leading, b.state.leading]).toEqual([false, true]);
  });

  test("work that outlives its grace keeps the lease, which then expires", async () => {
    const { candidate, clock, lease } = world();
    const a = candidate("a", { shutdownGraceMs: 3000 }, () => new Promise(() => {}));
    await settle();
    a.stop.abort();
    await clock.advance(3000);
    await a.run;
    expect((await lease()).holderIdentity).toBe("a");
  });

  test("work that ends by itself releases the lease and passes its error on", async () => {
    const { candidate, lease } = world();
    const a = candidate("a", {}, () => Promise.reject(new Error("broken")));
    await settle(4);
    expect(String(a.state.error)).toContain("broken");
    expect((await lease()).holderIdentity).toBe("");
  });

  test("no timer is left behind", async () => {
    const { candidate, clock } = world();
    const a = candidate("a");
    await clock.advance(5000);
    await a.end();
    expect(clock.pending).toBe(0);
  });
});

test("durations that cannot be safe are refused", () => {
  const client = new KubeClient({ transport: new FakeApi().transport });
  const make = (options: Partial<ElectorOptions>) => () =>
    new Elector({ client, namespace: "n", name: "l", identity: "i", ...options });
  expect(make({ leaseDurationMs: 10_000 })).toThrow(RangeError);
  expect(make({ retryPeriodMs: 9000 })).toThrow(RangeError);
});

test("a server that asks to be left alone is, as long as the lease can be renewed once more", async () => {
  const { clock, api, candidate } = world();
  const { state } = candidate("a");
  await clock.advance(0);
  expect(state.leading).toBe(true);
  const busyFor = (seconds: string) => () =>
    json(429, { kind: "Status", code: 429, reason: "TooManyRequests" }, { "retry-after": seconds });
  const asked = api.requests.length;
  api.fault = busyFor("5");
  await clock.advance(2000);
  const first = api.requests.length;
  expect(first).toBeGreaterThan(asked);
  api.fault = () => undefined;
  await clock.advance(4999);
  expect(api.requests.length).toBe(first);
  await clock.advance(1);
  expect(api.requests.length).toBeGreaterThan(first);
  // A minute is longer than the lease lives: it is asked once more before it is lost.
  api.fault = busyFor("60");
  await clock.advance(2000);
  api.fault = () => undefined;
  await clock.advance(30_000);
  expect(state).toMatchObject({ leading: true, error: undefined });
});
