// Who answers at the server's address: two agents and one Lease, through crashes, upgrades and an API server that is
// away.
import { afterEach, beforeEach, expect, test } from "vitest";

import { serverIdentity } from "../../src/api/vmnet/marks.ts";
import { parseMac } from "../../src/net/mac.ts";
import { until } from "../lab/wait.ts";
import { AgentFixture, network, type PlayedAgent, serverAddress } from "./fixture.ts";

const one = parseMac("02:00:00:00:00:01");

let fixture: AgentFixture;
beforeEach(async () => {
  fixture = await AgentFixture.open();
  await fixture.makePool();
  await fixture.bind("192.168.48.81", one);
});
afterEach(() => fixture.close());

const holders = () => fixture.ethernet.holders(serverAddress);

async function held(by: PlayedAgent): Promise<void> {
  await until(async () => holders().length === 1 && holders()[0] === by.wire.mac, {
    what: `${by.name} to answer alone`,
  });
}

async function serving(...agents: readonly PlayedAgent[]): Promise<void> {
  for (const agent of agents) {
    const answers = async () => agent.wire.story(network, { mac: one, options: { 53: "01" } }).startsWith("OFFER");
    await until(answers, { what: `${agent.name} to serve` });
  }
}

test("one of two answers at the address, and both answer clients", async () => {
  const a = fixture.start("a");
  await held(a);
  const b = fixture.start("b");
  await serving(a, b);
  expect(await fixture.leaseHolder()).toBe(serverIdentity("a", a.wire.mac));
  expect(holders()).toEqual([a.wire.mac]);
});

test("a killed holder is followed by the other", async () => {
  const a = fixture.start("a");
  await held(a);
  const b = fixture.start("b");
  await serving(b);
  a.kill();
  await held(b);
  expect(await fixture.leaseHolder()).toBe(serverIdentity("b", b.wire.mac));
});

test("on SIGTERM the Lease goes first, and the address is answered for until the other does", async () => {
  const a = fixture.start("a");
  await held(a);
  const b = fixture.start("b");
  await serving(b);
  a.stop();
  let isOver = false;
  void a.ended.then(() => (isOver = true));
  // At every look somebody answers.
  await until(
    async () => {
      expect(holders().length).toBeGreaterThan(0);
      return isOver;
    },
    { what: "the end of a", everyMs: 5 },
  );
  await held(b);
});

test("a wire whose thread is lost is opened again, told everything, and answered at, with another MAC too", async () => {
  const a = fixture.start("a");
  await held(a);
  const first = a.wire;
  first.isCut = true;
  first.handler.lost(new Error("the thread ended"));
  await until(async () => a.wire !== first, { what: "another wire" });
  await serving(a);
  await held(a);
  await until(async () => (await fixture.leaseHolder()) === serverIdentity("a", a.wire.mac), { what: "the Lease" });
  // The end of the holder before does not silence this one.
  await until(async () => a.log.some((line) => line.includes("no longer answering")), { what: "the end of the first" });
  expect(holders()).toEqual([a.wire.mac]);
});

test("an agent whose interface goes down leaves the address to the other, and is not ready", async () => {
  const a = fixture.start("a");
  await held(a);
  const b = fixture.start("b");
  await serving(b);
  const report = { network, interface: "eth1", mac: a.wire.mac } as const;
  a.wire.handler.link({ ...report, state: "down", message: "It is down." });
  await held(b);
  expect((await a.page("/readyz")).text).toContain("an interface is not up");
  a.wire.handler.link({ ...report, state: "up", message: "It is up." });
  await until(async () => (await a.page("/readyz")).status === 200, { what: "a to be ready again" });
  expect(holders()).toEqual([b.wire.mac]);
});

test("an agent that stops alone ends all the same, and leaves no Lease", async () => {
  const a = fixture.start("a");
  await held(a);
  await a.end();
  expect(holders()).toEqual([]);
  expect(await fixture.leaseHolder()).toBe("");
});

test("a holder that is cut off goes on; the other takes the Lease, and gets it for good when the first is back", async () => {
  const a = fixture.start("a");
  await held(a);
  const b = fixture.start("b");
  await serving(b);
  a.isAway = true;
  await until(async () => holders().includes(b.wire.mac), { what: "b to answer" });
  // Both do, with equal answers: nothing is lost.
  expect(holders()).toContain(a.wire.mac);
  await serving(a, b);
  a.isAway = false;
  await held(b);
});

test("with the API server away the holder keeps the address, and after its end another takes it without a Lease", async () => {
  const a = fixture.start("a");
  await held(a);
  const b = fixture.start("b");
  await serving(a, b);
  a.isAway = true;
  b.isAway = true;
  const asked = b.wire.asked.length;
  await until(async () => b.wire.asked.length > asked + 2, { what: "b to ask on the wire" });
  expect(holders()).toEqual([a.wire.mac]);
  a.kill();
  await held(b);
  await serving(b);
  // Back, the Lease is b's in time.
  b.isAway = false;
  await until(async () => (await fixture.leaseHolder()) === serverIdentity("b", b.wire.mac), { what: "b's Lease" });
  expect(holders()).toEqual([b.wire.mac]);
});

test("an address that a stranger has is not answered for until the stranger is gone; an Event says so", async () => {
  const stranger = parseMac("02:00:00:00:00:99");
  fixture.ethernet.hosts.set(serverAddress, stranger);
  const a = fixture.start("a");
  await serving(a);
  await until(async () => (await fixture.events()).includes("IPPool pool-48 ServerAddressInUse"), {
    what: "the Event",
  });
  expect(holders()).toEqual([]);
  fixture.ethernet.hosts.delete(serverAddress);
  await held(a);
});

test("a pool that gets another server address is answered for there", async () => {
  const a = fixture.start("a");
  await held(a);
  await fixture.changePool({ ipv4Config: { serverIP: "192.168.48.3" } });
  await until(async () => fixture.ethernet.holders("192.168.48.3").length === 1, { what: "the new address" });
  await until(async () => holders().length === 0, { what: "silence at the old one" });
  await fixture.deletePool();
  await until(async () => fixture.ethernet.holders("192.168.48.3").length === 0, { what: "silence" });
});
