import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { seenAnnotation } from "../../api/slices/node-lease.ts";
import type { Lease } from "../../kube/lease.ts";
import { KubeClient } from "../../kube/rest.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { status } from "../../kube/testing/fake-transport.ts";
import { ManualClock, settle } from "../../kube/testing/manual-clock.ts";
import { silent } from "../../log/log.ts";
import { NodeLease } from "./lease.ts";

const path = "/apis/coordination.k8s.io/v1/namespaces/system/leases/holdfast-node-n1";

let clock: ManualClock;
let api: FakeApi;
let stop: AbortController;
let running: Promise<void>;
/** The API server's version, the version of takes under way, and how often that was asked. */
let versions: { told: number; seen: number; asked: number };

let journal = "";
let restores = 0;
let wallShiftMs = 0;
beforeEach(() => {
  restores = 0;
  wallShiftMs = 0;
  journal = "";
  clock = new ManualClock();
  api = new FakeApi();
  stop = new AbortController();
  versions = { told: 1, seen: 1, asked: 0 };
});
afterEach(async () => {
  stop.abort();
  await running;
});

function start({
  daemons = 0,
  random = 0.5,
  renewedMs = undefined as number | undefined,
  onFailed = () => {},
  transport = api.transport,
} = {}): NodeLease {
  const lease = new NodeLease({
    client: new KubeClient({ transport, clock }),
    node: "n1",
    namespace: "system",
    identity: "journal",
    authorityMs: 1000,
    clock: {
      wallMs: () => clock.wallMs() + wallShiftMs,
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, callback) => clock.after(delayMs, callback),
    },
    random: () => random,
    moment: () => ({ wallMs: clock.wallMs(), uptimeMs: clock.monotonicMs(), bootId: "b" }),
    seenVersion: () => {
      versions.asked++;
      return versions.seen;
    },
    toldVersion: () => versions.told,
    daemons: () => daemons,
    journalText: () => journal,
    onTry: () => {},
    onOther: () => {},
    onRenewed: async () => {},
    onFailed,
    renewedMs: () => renewedMs,
    onRestore: () => {
      restores += 1;
      lease.restored();
    },
    onSlices: () => {},
    log: silent,
  });
  running = lease.run(stop.signal);
  return lease;
}

const renewals = () => api.count("PATCH", path);
const stored = async () =>
  JSON.parse(await new KubeClient({ transport: api.transport, clock }).raw(path)) as Lease & { spec: object };
const told = async () => (await stored()).metadata.annotations?.[seenAnnotation];
/** As the controller does, or a copy: replaces the Lease, under a new version. */
const put = ({ metadata: { annotations = {} }, spec }: Lease & { spec: object }) =>
  api.put(path, { metadata: { annotations }, spec });

it("is renewed once a minute, and asks for nothing in between", async () => {
  start();
  await settle();
  const [before, asked] = [renewals(), versions.asked];
  await clock.advance(59_000);
  expect([renewals(), versions.asked]).toEqual([before, asked]);
  await clock.advance(2000);
  expect(renewals()).toBe(before + 1);
});

it("tells another version as soon as no take works by an older one", async () => {
  const lease = start();
  await settle();
  expect(await told()).toBe("1");
  versions.told = 2;
  lease.look();
  await clock.advance(3000);
  expect(await told()).toBe("1");
  versions.seen = 2;
  await clock.advance(1000);
  expect(await told()).toBe("2");
});

it("tells it at a moment of its own, the later the more nodes there are", async () => {
  const lease = start({ daemons: 5000, random: 0.5 });
  await settle();
  versions = { ...versions, told: 2, seen: 2 };
  lease.look();
  await clock.advance(9900); // half of 5,000 times 4 ms
  expect(await told()).toBe("1");
  await clock.advance(200);
  expect(await told()).toBe("2");
});

it("a server that asks for time gets it, and as much again at most, although there is another version to tell", async () => {
  let isBusy = false;
  let tries = 0;
  const transport = api.transport;
  api = Object.assign(Object.create(api) as FakeApi, {
    transport: async (request: Parameters<typeof transport>[0]) => {
      if (request.method !== "PATCH" || !isBusy) return transport(request);
      tries += 1;
      const body = JSON.stringify({ kind: "Status", reason: "TooManyRequests", code: 429 });
      const bytes = async function* () {
        yield new TextEncoder().encode(body);
      };
      return { status: 429, headers: { "retry-after": "10", "content-type": "application/json" }, body: bytes() };
    },
  });
  const lease = start({ random: 0.5 });
  await settle();
  isBusy = true;
  versions = { ...versions, told: 2, seen: 2 };
  lease.look();
  await clock.advance(1000);
  expect(tries).toBe(1);
  versions = { ...versions, told: 3, seen: 3 };
  lease.look();
  await clock.advance(13_000);
  expect(tries).toBe(1);
  isBusy = false;
  await clock.advance(5000);
  expect(await told()).toBe("3");
});

/** No watch is told anything from now on. */
function deafen(): void {
  api.fault = ({ path: asked }) => (asked.includes("watch=true") ? status(503, "Busy") : undefined);
  api.cutWatches(new Error("reset"));
}

describe("a Lease that is older than it was left", () => {
  it("is of a restored server, told of once", async () => {
    start();
    await settle();
    const copy = await stored();
    await clock.advance(70_000);
    deafen();
    put(copy);
    await clock.advance(70_000);
    expect(restores).toBe(1);
    await clock.advance(300_000);
    expect(restores).toBe(1);
  });

  it("is noticed also where the watch has told it", async () => {
    start();
    await settle();
    const copy = await stored();
    await clock.advance(70_000);
    put(copy);
    await clock.advance(70_000);
    expect(restores).toBe(1);
  });

  it("is noticed by the next daemon, which knows when the one before renewed it", async () => {
    start();
    await settle();
    const copy = await stored();
    await clock.advance(130_000);
    stop.abort();
    await running;
    put(copy);
    stop = new AbortController();
    start({ renewedMs: clock.wallMs() - 60_000 });
    await settle();
    expect(restores).toBe(1);
  });

  it("is told of by the next daemon where nobody has noted what the one before said", async () => {
    start();
    await settle();
    journal = '{"slices":[],"restored":true}';
    await clock.advance(70_000);
    stop.abort();
    await running;
    stop = new AbortController();
    start({ renewedMs: clock.wallMs() - 60_000 });
    await settle();
    expect(restores).toBe(1);
  });

  it("is not where the node's clock was set back, and an answer was lost", async () => {
    start();
    await settle();
    await clock.advance(70_000);
    const lease = await stored();
    deafen();
    wallShiftMs = -3_600_000;
    put({ ...lease, spec: { ...lease.spec, renewTime: new Date(clock.wallMs() + wallShiftMs).toISOString() } });
    await clock.advance(70_000);
    expect(restores).toBe(0);
  });

  it("a controller that is always faster does not keep it from being renewed", async () => {
    let [failures, isMade] = [0, false];
    const transport = api.transport;
    const busy = async (request: Parameters<typeof transport>[0]) => {
      if (request.method === "PATCH" && isMade) put(await stored());
      return transport(request);
    };
    start({ transport: busy, onFailed: () => (failures += 1) });
    await settle();
    isMade = true;
    await clock.advance(300_000);
    expect([failures, restores]).toEqual([0, 0]);
  });

  it.each([
    "what the controller wrote",
    "what the controller wrote and no watch told",
    "another's, as of a copied disk",
  ])("is not: %s", async (what) => {
    start();
    await settle();
    for (let round = 0; round < 5; round++) {
      await clock.advance(30_000);
      const lease = await stored();
      lease.metadata.annotations = { ...lease.metadata.annotations, other: String(round) };
      if (what.startsWith("another")) lease.spec = { holderIdentity: "another", renewTime: "2001-01-01T00:00:00Z" };
      if (what.endsWith("told")) deafen();
      put(lease);
    }
    await clock.advance(120_000);
    expect(restores).toBe(0);
    expect((await stored()).spec).toMatchObject({ holderIdentity: "journal" });
  });
});

it("a Lease that is gone is made again: one that was deleted by hand is no sign of a restore", async () => {
  start();
  await settle();
  api.remove(path);
  await clock.advance(70_000);
  expect([restores, await told()]).toEqual([0, "1"]);
});
