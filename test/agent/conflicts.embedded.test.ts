// Addresses that another host uses, found by the client (DECLINE) or by the agent (ARP), and servers that are not ours.
import { afterEach, beforeEach, expect, test } from "vitest";

import { quarantineAnnotation } from "../../src/api/vmnet/marks.ts";
import { parseMac } from "../../src/net/mac.ts";
import { ipHex } from "../dhcp/packet.ts";
import { until } from "../lab/wait.ts";
import { AgentFixture, network, type PlayedAgent, serverAddress } from "./fixture.ts";

const one = parseMac("02:00:00:00:00:01");
const stranger = parseMac("02:00:00:00:00:99");
const address = "192.168.48.81";

let fixture: AgentFixture;
let a: PlayedAgent;
let b: PlayedAgent;
beforeEach(async () => {
  fixture = await AgentFixture.open();
  await fixture.makePool();
  await fixture.bind("192.168.48.80", "02:00:00:00:00:07", "vm-0");
  a = fixture.start("a");
  await until(async () => fixture.ethernet.holders(serverAddress).length === 1, { what: "a holder" });
  b = fixture.start("b");
  for (const agent of [a, b]) await seen(agent, "OFFER", parseMac("02:00:00:00:00:07"));
});
afterEach(() => fixture.close());

async function seen(agent: PlayedAgent, wanted: string, mac = one): Promise<void> {
  const answers = async () => agent.wire.story(network, { mac, options: { 53: "01" } }).includes(wanted);
  await until(answers, { what: `${wanted} for ${mac} at ${agent.name}` });
}

test("a DECLINE puts the address into quarantine in every agent, with Events on the VM's request and the pool", async () => {
  await fixture.bind(address, one);
  for (const agent of [a, b]) await seen(agent, `OFFER ${address}`);
  const options = { 53: "04", 50: ipHex(address), 54: ipHex(serverAddress) };
  expect(a.wire.story(network, { mac: one, options })).toBe("silence: recorded");
  for (const agent of [a, b]) await seen(agent, "quarantined");
  const events = ["VirtualMachineNetworkConfig vm-1 AddressConflict", "IPPool pool-48 AddressConflict"];
  await until(
    async () => {
      const told = await fixture.events();
      return events.every((each) => told.includes(each));
    },
    { what: "the Events" },
  );
  expect((await fixture.hold(address)).metadata.annotations?.[quarantineAnnotation]).toMatch(/Z decline$/);
  // Who has the address already keeps it.
  const renewal = { mac: one, ciaddr: address, sourceAddress: address, options: { 53: "03" } };
  expect(b.wire.story(network, renewal)).toContain(`ACK ${address}`);
});

test("an address that a stranger answers for when its binding is made is not offered until it is silent", async () => {
  fixture.ethernet.hosts.set(address, stranger);
  await fixture.bind(address, one);
  for (const agent of [a, b]) await seen(agent, "quarantined");
  await until(async () => (await fixture.events()).includes("VirtualMachineNetworkConfig vm-1 AddressInUse"), {
    what: "the Event",
  });
  expect((await fixture.hold(address)).metadata.annotations?.[quarantineAnnotation]).toMatch(/Z probe$/);
  // Only who answers at the server's address asks.
  expect(b.wire.asked).not.toContain(address);
  fixture.ethernet.hosts.delete(address);
  for (const agent of [a, b]) await seen(agent, `OFFER ${address}`);
  expect((await fixture.hold(address)).metadata.annotations).not.toHaveProperty(quarantineAnnotation);
});

test("an address that its own VM answers for is served", async () => {
  fixture.ethernet.hosts.set(address, one);
  await fixture.bind(address, one);
  await until(async () => a.wire.asked.includes(address), { what: "the question" });
  for (const agent of [a, b]) await seen(agent, `OFFER ${address}`);
});

test("a client that takes another server's offer is told of on the pool, and counted", async () => {
  await fixture.bind(address, one);
  await seen(a, `OFFER ${address}`);
  const options = { 53: "03", 50: ipHex(address), 54: ipHex("192.168.48.250") };
  for (let i = 0; i < 5; i++) expect(a.wire.story(network, { mac: one, options })).toBe("silence: other-server");
  await until(async () => (await fixture.events()).includes("IPPool pool-48 ForeignDhcpServer"), { what: "the Event" });
  const { text } = await a.page("/metrics");
  expect(text).toContain(`holdfast_dhcp_foreign_server_total{network="${network}"} 5`);
});
