// IPv6 from the API server's objects to the frame: what a change of the pool tells guests, what a DECLINE writes, who
// answers at the server's address, and what is served while the API server is away.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { quarantineAnnotation } from "../../src/api/vmnet/marks.ts";
import { multicast } from "../../src/frame/multicast.ts";
import { parseMac } from "../../src/net/mac.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { clientId, message, na } from "../dhcp/v6/packet.ts";
import { until } from "../lab/wait.ts";
import { AgentFixture, network, type PlayedAgent, pool } from "./fixture.ts";
import { advertisementFrame, datagramFrame, lineOf, serverId, solicitationFrame } from "./service-v6-link.ts";

const one = parseMac("02:00:00:00:00:01");
const router = "fe80::1";
const server = "fd00:48::2";
const ipv6Config = { cidr: "fd00:48::/64", leaseTime: 600, router, serverIP: server };
const identity = serverId({ name: pool, subnet: parsePrefix(ipv6Config.cidr), leaseSeconds: 600 });

let fixture: AgentFixture;
beforeEach(async () => {
  fixture = await AgentFixture.open();
  await fixture.makePool();
  await fixture.changePool({ ipv6Config });
  await fixture.bind("fd00:48::81", one);
});
afterEach(() => fixture.close());

const lines = (agent: PlayedAgent) => agent.wire.sent.map(lineOf);
const routerIs = (lifetime: number) => `RA ${router} > ff02::1 lifetime ${lifetime}`;

function ask(agent: PlayedAgent, datagram: Uint8Array): string[] {
  const from = agent.wire.sent.length;
  const bytes = datagramFrame(one, "fe80::11", multicast.dhcpAgents, datagram);
  agent.wire.handler.frames?.([{ network, bytes, isChecksumGiven: false }]);
  return lines(agent).slice(from);
}

const solicit = (agent: PlayedAgent) => ask(agent, message("SOLICIT", [clientId, na(1)]));

async function serving(agent: PlayedAgent): Promise<void> {
  await until(async () => solicit(agent).join() === "ADVERTISE fd00:48::81", { what: "IPv6" });
}

async function sees(agent: PlayedAgent, line: string): Promise<void> {
  await until(async () => lines(agent).includes(line), { what: line });
}

describe("guests are told that the router is none any more", () => {
  test.each([
    ["the pool goes", () => fixture.deletePool()],
    ["its IPv6 goes", () => fixture.changePool({ ipv6Config: null })],
    ["its IPv6 cannot be read any more", () => fixture.changePool({ ipv6Config: { cidr: "fd00:48::/zz" } })],
    ["it names none any more", () => fixture.changePool({ ipv6Config: { router: null } })],
    ["it advertises no more", () => fixture.changePool({ ipv6Config: { advertise: false } })],
  ])("when %s", async (_, change) => {
    const agent = fixture.start("a");
    await serving(agent);
    await sees(agent, routerIs(1800));
    await change();
    await sees(agent, routerIs(0));
  });

  test("and not when the pool is paused, nor when the agent ends", async () => {
    const agent = fixture.start("a");
    await serving(agent);
    await sees(agent, routerIs(1800));
    await fixture.changePool({ paused: true });
    await until(async () => solicit(agent).length === 0, { what: "silence" });
    await agent.end();
    expect(lines(agent)).not.toContain(routerIs(0));
  });

  test("nor while another pool of the network names it", async () => {
    await fixture.makePool({ cidr: "192.168.50.0/24", serverIP: "192.168.50.2" }, "default/other");
    await fixture.changePool({ ipv6Config: { cidr: "fd00:50::/64", router } }, "default/other");
    const agent = fixture.start("a");
    await serving(agent);
    await until(async () => (await agent.page("/leases")).text.includes("default/other"), { what: "the other pool" });
    await fixture.deletePool();
    await until(async () => solicit(agent).length === 0, { what: "the end of the pool" });
    expect(lines(agent)).not.toContain(routerIs(0));
    await fixture.deletePool("default/other");
    await sees(agent, routerIs(0));
  });
});

test("a declined address is in quarantine at every agent, by a word in its Hold, and an Event says so", async () => {
  const a = fixture.start("a");
  const b = fixture.start("b");
  for (const agent of [a, b]) await serving(agent);
  expect(ask(a, message("REQUEST", [clientId, identity, na(1)]))).toEqual(["REPLY fd00:48::81"]);
  expect(ask(a, message("DECLINE", [clientId, identity, na(1, "fd00:48::81")]))).toEqual(["REPLY Success"]);
  const word = async () => (await fixture.hold("fd00:48::81")).metadata.annotations?.[quarantineAnnotation] ?? "";
  await until(async () => (await word()).endsWith(" decline"), { what: "the word" });
  await until(async () => solicit(b).length === 0, { what: "silence of the other agent" });
  await until(async () => (await fixture.events()).includes("VirtualMachineNetworkConfig vm-1 AddressConflict"), {
    what: "the Event",
  });
  expect((await b.page("/metrics")).text).toMatch(/dhcpv6_silences_total\{.*reason="quarantined"\} [1-9]/);
});

test("the server's address is its holder's alone, and after the holder the other's", async () => {
  const a = fixture.start("a");
  await serving(a);
  await sees(a, `NA ${server} > ff02::1 is ${a.wire.mac}`);
  const b = fixture.start("b");
  await serving(b);
  const answered = (agent: PlayedAgent) => {
    const from = agent.wire.sent.length;
    const bytes = solicitationFrame(one, "fe80::11", server);
    agent.wire.handler.frames?.([{ network, bytes, isChecksumGiven: false }]);
    return lines(agent).slice(from);
  };
  expect([answered(a), answered(b)]).toEqual([[`NA ${server} > fe80::11 is ${a.wire.mac}`], []]);
  await a.end();
  await sees(b, `NA ${server} > ff02::1 is ${b.wire.mac}`);
  expect(answered(b)).toEqual([`NA ${server} > fe80::11 is ${b.wire.mac}`]);
});

test("what was served last is served while the API server is away", async () => {
  const state = await fixture.folder();
  const first = fixture.start("a", { state });
  await serving(first);
  const path = join(state, "dhcp-agent.state");
  await until(async () => (await readFile(path, "utf8")).includes("fd00:48::81"), { what: "the file" });
  first.kill();
  await fixture.release("fd00:48::81", one);
  const second = fixture.start("a", { state, isAway: true });
  await serving(second);
  await sees(second, routerIs(1800));
  second.isAway = false;
  await until(async () => solicit(second).length === 0, { what: "the release" });
});

test("an agent of one pool contradicts who takes its router back", async () => {
  const agent = fixture.start("a", { targets: [{ kind: "pool", key: pool, interface: "eth1" }] });
  await serving(agent);
  await sees(agent, routerIs(1800));
  // The agents of another pool, which goes.
  const told = () => lines(agent).filter((line) => line === routerIs(1800)).length;
  const before = told();
  const bytes = advertisementFrame(one, router, 0);
  agent.wire.handler.frames?.([{ network, bytes, isChecksumGiven: false }]);
  // The next one would come by itself after 16 s, or five by this clock.
  await until(async () => told() > before, { what: "its router again" });
});
