// What the port's suite (test/conformance/ledger) cannot see: how many requests a call costs, and what refusals become.
import { Readable } from "node:stream";

import * as fc from "fast-check";
import { afterEach, describe, expect, it, test, vi } from "vitest";

import { installDefinitions } from "../../../test/ledger/definitions.ts";
import { type Api, openApi } from "../../apiserver/api.ts";
import { type Ledger, LedgerError } from "../../ipam/ledger.ts";
import { type Owner, ownerKey } from "../../ipam/owner.ts";
import { MemoryLedger, MemoryStore } from "../../ipam/testing/memory-ledger.ts";
import { KubeClient } from "../../kube/rest.ts";
import { ManualClock } from "../../kube/testing/manual-clock.ts";
import { type ApiResponse, NotSentError, type Transport } from "../../kube/transport/transport.ts";
import { parseAddress } from "../../net/address.ts";
import { ReservationLedger } from "./reservation-ledger.ts";

const opened: Api[] = [];
afterEach(() => {
  for (const api of opened.splice(0)) api.close();
});

interface Refusal {
  readonly status: number;
  readonly retryAfterSeconds?: number;
}

/** As a server answers that does not carry it out. */
function refused({ status, retryAfterSeconds = 0 }: Refusal): ApiResponse {
  const headers: Record<string, string> = retryAfterSeconds > 0 ? { "retry-after": String(retryAfterSeconds) } : {};
  return { status, headers, body: Readable.from([Buffer.from("no")]) };
}

/** A server that can be made to refuse: the rule is asked at each request. */
async function world(namespace = "default") {
  let refusal: ((method: string) => Refusal | undefined) | undefined;
  const api = openApi({ path: ":memory:" });
  opened.push(api);
  await installDefinitions(new KubeClient({ transport: api.transport }));
  const asked: string[] = [];
  let breaks: Error | undefined;
  const transport: Transport = async (request) => {
    asked.push(request.method);
    if (breaks !== undefined) throw breaks;
    const answer = refusal?.(request.method);
    return answer === undefined ? api.transport(request) : refused(answer);
  };
  const clock = new ManualClock();
  let nowMs = 1_000_000;
  const ledger = new ReservationLedger({
    client: new KubeClient({ transport }),
    namespace,
    node: "n",
    now: () => nowMs,
    clock,
    random: () => 0.5,
  });
  return {
    ledger,
    clock,
    /** What it cost. */
    cost: async (work: Promise<unknown>) => {
      await work;
      return asked.splice(0).join(" ");
    },
    fail: (rule: typeof refusal) => (refusal = rule),
    break: (error: Error | undefined) => (breaks = error),
    advance: (ms: number) => (nowMs += ms),
  };
}

const pod = (name: string, containerId = "c"): Owner => ({
  kind: "pod",
  uid: `u-${name}`,
  namespace: "d",
  name,
  interface: "net1",
  containerId,
});

describe.each(["network:", "network:red", "pool:a/b"])("in %s", (domain) => {
  const at = { domain, address: parseAddress("fd00::7") };
  const guard = { ...at, owner: ownerKey(pod("a")), cooldownMs: 0 };

  it("costs one write to take, and one to release", async () => {
    const { ledger, cost } = await world();
    const taken = await ledger.take({ ...at, owner: pod("a") });
    expect(await cost(Promise.resolve())).toBe("POST");
    const version = taken.outcome === "taken" ? taken.hold.version : "";
    expect(await cost(ledger.release({ ...guard, version }))).toBe("DELETE");
    const again = await ledger.take({ ...at, owner: pod("a") });
    await cost(Promise.resolve());
    const rest = { ...guard, version: again.outcome === "taken" ? again.hold.version : "", cooldownMs: 1000 };
    expect(await cost(ledger.release(rest))).toBe("PUT");
  });

  it("costs a read more where it meets another's, and a guarded write where that has rested", async () => {
    const { ledger, cost, advance } = await world();
    await ledger.take({ ...at, owner: pod("a") });
    await cost(Promise.resolve());
    expect(await cost(ledger.take({ ...at, owner: pod("b") }))).toBe("POST GET");
    expect(await cost(ledger.take({ ...at, owner: pod("a", "c-2") }))).toBe("POST GET PUT");
    await ledger.release({ ...guard, cooldownMs: 1000 });
    advance(1001);
    await cost(Promise.resolve());
    expect(await cost(ledger.take({ ...at, owner: pod("b") }))).toBe("POST GET PUT");
  });
});

describe("a refusal", () => {
  const request = { domain: "network:", address: parseAddress("10.0.0.7"), owner: pod("a") };
  const errorOf = async (work: Promise<unknown>) => {
    const error: unknown = await work.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LedgerError);
    return error as LedgerError;
  };

  test.each([
    [403, "unavailable", /Grant the service account get, list, create.*overlappingrangeipreservations/],
    [401, "unavailable", /credential/],
    [422, "unavailable", /apply deploy\/crds/],
    [500, "outcome-unknown", /500/],
    [504, "outcome-unknown", /504/],
  ])("with %d is %s", async (status, code, words) => {
    const { ledger, fail } = await world();
    fail((method) => (method === "POST" ? { status } : undefined));
    const error = await errorOf(ledger.take(request));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^taking 10\.0\.0\.7 in the network without a name for pod d\/a \(net1\): /);
    expect(error.message).toMatch(words);
  });

  it("in a namespace that is not there says what to create", async () => {
    const { ledger } = await world("nowhere");
    const error = await errorOf(ledger.take(request));
    expect(error.code).toBe("unavailable");
    expect(error.message).toMatch(/nowhere/);
  });

  it("of a name that no server takes is the caller's to mend", async () => {
    const { ledger } = await world();
    const error = await errorOf(ledger.take({ ...request, domain: "network:Not Legal" }));
    expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("DNS-1123") as string });
  });

  test.each([
    ["a connection that broke", new Error("reset"), "outcome-unknown"],
    ["a server that was not reached", new NotSentError("refused"), "unavailable"],
  ])("by %s", async (_what, broken, code) => {
    const { ledger, ...rest } = await world();
    rest.break(broken);
    expect((await errorOf(ledger.take(request))).code).toBe(code);
    const guard = { ...request, owner: ownerKey(pod("a")), cooldownMs: 0 };
    expect((await errorOf(ledger.release(guard))).code).toBe("unavailable"); // a read was all that it tried
    expect((await errorOf(ledger.find("network:", ownerKey(pod("a"))))).code).toBe("unavailable");
  });

  it("to answer at once is waited for, as long as the server asks and half as long again", async () => {
    const { ledger, clock, fail } = await world();
    let refusals = 2;
    fail((method) => (method === "POST" && refusals-- > 0 ? { status: 429, retryAfterSeconds: 2 } : undefined));
    const taken = ledger.take(request);
    for (let i = 0; i < 2; i++) {
      await vi.waitFor(() => expect(clock.pending).toBe(1));
      await clock.advance(3000);
    }
    expect(await taken).toMatchObject({ outcome: "taken" });
  });

  it.each(["POST", "PUT"])(
    "to answer a %s at once: who may take no more meanwhile does not repeat it",
    async (late) => {
      const { ledger, clock, cost, fail } = await world();
      // A later container of the same pod is a POST, a GET and a PUT.
      if (late === "PUT") await ledger.take(request);
      let [isPutOff, mayStill] = [true, true];
      fail((method) => (method === late && isPutOff ? { status: 429, retryAfterSeconds: 2 } : undefined));
      const lapsed = new LedgerError("unavailable", "the time is over");
      const mayTake = () => {
        if (!mayStill) throw lapsed;
      };
      const taken = errorOf(ledger.take({ ...request, owner: pod("a", "c-2") }, { mayTake }));
      await vi.waitFor(() => expect(clock.pending).toBe(1));
      [isPutOff, mayStill] = [false, false];
      await cost(Promise.resolve());
      await clock.advance(3000);
      expect(await taken).toBe(lapsed);
      expect(await cost(Promise.resolve())).toBe("");
      mayStill = true;
      const again = await ledger.take({ ...request, owner: pod("a", "c-2") }, { mayTake });
      expect(again).toMatchObject({ outcome: late === "PUT" ? "yours" : "taken" });
    },
  );

  it("to answer at all ends with the caller's patience, and nothing was done", async () => {
    const { ledger, clock, fail } = await world();
    fail((method) => (method === "POST" ? { status: 429, retryAfterSeconds: 2 } : undefined));
    const caller = new AbortController();
    const taken = errorOf(ledger.take(request, { signal: caller.signal }));
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    caller.abort();
    expect(await taken).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("flow-control") as string,
    });
    const whole = errorOf(ledger.take(request));
    for (let i = 0; i < 10; i++) {
      await vi.waitFor(() => expect(clock.pending).toBe(1));
      await clock.advance(3000);
    }
    expect((await whole).code).toBe("unavailable");
  });
});

describe("any story of takes and releases", () => {
  const names = fc.constantFrom("a", "b", "c");
  const text = fc.constantFrom("10.0.0.7", "fd00::7");
  const uidLess = fc.boolean();
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("take" as const),
      name: names,
      text,
      uidLess,
      early: fc.boolean(),
      container: fc.constantFrom("c", "d"),
    }),
    fc.record({
      kind: fc.constant("release" as const),
      name: names,
      text,
      uidLess,
      cooldownMs: fc.constantFrom(0, 50),
      atVersion: fc.boolean(),
    }),
    fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(20, 60) }),
  );

  it.each(["network:", "pool:a/b"])(
    "ends as the memory ledger's, in %s",
    async (domain) => {
      const { ledger, advance } = await world();
      let stories = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
          // A story of its own for each: other addresses.
          const shift = (each: string) => each.replace("7", String(10 + (stories % 200)));
          stories += 1;
          let nowMs = 1_000_000;
          const model = new MemoryLedger(new MemoryStore(), { now: () => nowMs });
          const story = `${domain}${domain.endsWith(":") ? "" : "-"}s${stories}`;
          /** name and address -> the version that each ledger answered last */
          const versions = new Map<string, string>();
          for (const each of steps) {
            if (each.kind === "advance") {
              nowMs += each.ms;
              advance(each.ms);
              continue;
            }
            const owner = {
              ...pod(each.name, each.kind === "take" ? each.container : "c"),
              ...(each.uidLess && { uid: "" }),
            };
            const address = parseAddress(shift(each.text));
            const run = async (on: Ledger, which: string) => {
              const key = `${which} ${each.name} ${each.text}`;
              if (each.kind === "take") {
                const result = await on.take({ domain: story, address, owner, early: each.early });
                if ("hold" in result) versions.set(key, result.hold.version);
                return "hold" in result ? [result.outcome, result.hold.owner] : [result.outcome];
              }
              const version = each.atVersion ? versions.get(key) : undefined;
              const guard = { domain: story, address, owner: ownerKey(owner), cooldownMs: each.cooldownMs };
              const result = await on.release({ ...guard, ...(version !== undefined && { version }) });
              return "hold" in result ? [result.outcome, result.hold.owner] : [result.outcome];
            };
            expect(await run(ledger, "api")).toEqual(await run(model, "model"));
          }
          const holds = async (on: Ledger) =>
            (await Array.fromAsync(on.list(story))).map(({ address, owner }) => `${address} ${ownerKey(owner)}`).sort();
          expect(await holds(ledger)).toEqual(await holds(model));
        }),
        { numRuns: 150 },
      );
    },
    60_000,
  );
});
