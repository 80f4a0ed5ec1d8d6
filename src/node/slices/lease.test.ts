import { afterEach, beforeEach, expect, it } from "vitest";

import { seenAnnotation } from "../../api/slices/node-lease.ts";
import type { Lease } from "../../kube/lease.ts";
import { ManualClock, settle } from "../../kube/manual-clock.ts";
import { KubeClient } from "../../kube/rest.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { silent } from "../../log/log.ts";
import { NodeLease } from "./lease.ts";

const path = "/apis/coordination.k8s.io/v1/namespaces/system/leases/holdfast-node-n1";

let clock: ManualClock;
let api: FakeApi;
let stop: AbortController;
let running: Promise<void>;
/** What the API server has told, what takes still work by, and how often that was asked. */
let versions: { told: number; seen: number; asked: number };

let journal = "";
beforeEach(() => {
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

function start({ daemons = 0, random = 0.5 } = {}): NodeLease {
  const lease = new NodeLease({
    client: new KubeClient({ transport: api.transport, clock }),
    node: "n1",
    namespace: "system",
    identity: "journal",
    authorityMs: 1000,
    clock,
    random: () => random,
    moment: () => ({ wallMs: clock.wallMs(), uptimeMs: clock.monotonicMs(), bootId: "b" }),
    seenVersion: () => {
      versions.asked++;
      return versions.seen;
    },
    toldVersion: () => versions.told,
    daemons: () => daemons,
    journalText: () => journal,
    onRenewed: async () => {},
    onFailed: () => {},
    onSlices: () => {},
    log: silent,
  });
  running = lease.run(stop.signal);
  return lease;
}

const renewals = () => api.count("PATCH", path);
const told = async () => {
  const { metadata } = JSON.parse(await new KubeClient({ transport: api.transport, clock }).raw(path)) as Lease;
  return metadata.annotations?.[seenAnnotation];
};

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
