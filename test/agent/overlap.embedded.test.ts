// Two pools of one network that cannot both be, as an API server without our webhook lets pass: agents of either, and
// of both, give the same answers, and no address to two.
import { afterEach, beforeEach, expect, test } from "vitest";

import { type Mac, parseMac } from "../../src/net/mac.ts";
import { until } from "../lab/wait.ts";
import { AgentFixture, network, type PlayedAgent, pool, serverAddress } from "./fixture.ts";

const young = "default/young";
const device = parseMac("02:00:00:00:00:09");
const machine = parseMac("02:00:00:00:00:01");
const discover = { 53: "01" };

let fixture: AgentFixture;
let agents: readonly PlayedAgent[];
beforeEach(async () => {
  fixture = await AgentFixture.open();
});
afterEach(() => fixture.close());

const of = (key: string, name: string) => fixture.start(name, { targets: [{ kind: "pool", key, interface: "eth1" }] });

/** One of the older pool, one of the younger, one of the network. */
async function start(): Promise<void> {
  agents = [of(pool, "of-old"), of(young, "of-young"), fixture.start("of-both")];
  for (const agent of agents)
    await until(async () => (await agent.page("/readyz")).status === 200, { what: agent.name });
}

/** What a client is offered by each of the three; silence is "-". */
const offers = (mac: Mac) =>
  agents.map((agent) => {
    const story = agent.wire.story(network, { mac, options: discover });
    return story.startsWith("OFFER") ? story.split(" ")[1]! : "-";
  });

async function offered(mac: Mac, ...wanted: readonly string[]): Promise<void> {
  await until(async () => offers(mac).join() === wanted.join(), { what: `${wanted.join()} for ${mac}` }).catch(
    () => {},
  );
  expect(offers(mac)).toEqual(wanted);
}

test("a device that the younger pool serves loses its address when the older one grows over it", async () => {
  await fixture.makePool({ pool: { start: "192.168.48.10", end: "192.168.48.19" } });
  const reservations = [{ ipAddress: "192.168.48.25", macAddress: device }];
  const apart = { start: "192.168.48.30", end: "192.168.48.39" };
  await fixture.makePool({ serverIP: "192.168.48.3", pool: apart, reservations }, young);
  await fixture.bind("192.168.48.31", machine, "vm-1", young);
  await start();
  await offered(device, "-", "192.168.48.25", "192.168.48.25");
  await offered(machine, "-", "192.168.48.31", "192.168.48.31");
  // From now on the controller may give .25 to a VM, by the older pool; the younger one it uses no more.
  await fixture.changePool({ ipv4Config: { pool: { start: "192.168.48.10", end: "192.168.48.39" } } });
  await offered(device, "-", "-", "-");
  // Who has an address keeps it: its Hold is the one record of it.
  await offered(machine, "-", "192.168.48.31", "192.168.48.31");
  const { text } = await agents[1]!.page("/leases");
  expect(text).toContain(`192.168.48.25 is an address for VMs in ippl ${pool}, which goes before`);
  await fixture.bind("192.168.48.25", parseMac("02:00:00:00:00:02"), "vm-2");
  await offered(parseMac("02:00:00:00:00:02"), "192.168.48.25", "-", "192.168.48.25");
});

test("of two that name one server address the older one's agents answer there, and the younger one's renewals go on", async () => {
  await fixture.makePool({ pool: { start: "192.168.48.10", end: "192.168.48.19" } });
  await fixture.makePool({ pool: { start: "192.168.48.30", end: "192.168.48.39" } }, young);
  await fixture.bind("192.168.48.31", machine, "vm-1", young);
  await start();
  await until(async () => fixture.ethernet.holders(serverAddress).length === 1, { what: "a holder" });
  const [old, ofYoung, both] = agents;
  expect([old!.wire.mac, both!.wire.mac]).toContain(fixture.ethernet.holders(serverAddress)[0]);
  expect(await fixture.leaseHolder(young).catch(() => "nobody")).toBe("nobody");
  const renewal = { mac: machine, ciaddr: "192.168.48.31", sourceAddress: "192.168.48.31", options: { 53: "03" } };
  expect(ofYoung!.wire.story(network, renewal)).toMatch(/^ACK 192\.168\.48\.31 /);
  expect(old!.wire.story(network, renewal)).toBe("silence: unknown-client");
});

test("an agent that starts serves nothing before it has heard of all Holds", async () => {
  await fixture.makePool({ reservations: [{ ipAddress: "192.168.48.25", macAddress: device }] });
  await fixture.bind("192.168.48.25", machine);
  const agent = fixture.start("a");
  const gate = Promise.withResolvers<void>();
  agent.before = (path) => (path.includes("/holds") ? gate.promise : undefined);
  // The pools are listed, and it follows them.
  const isFollowing = async () =>
    agent.asked.some((path) => path.includes("default/ippools") && path.includes("watch"));
  await until(isFollowing, { what: "the pools" });
  gate.resolve();
  await until(async () => agent.wire.story(network, { mac: machine, options: discover }).startsWith("OFFER"), {
    what: "the Hold",
  });
  expect(agent.wire.everBound).toEqual([`192.168.48.25 ${machine}`]);
});
