// What an agent serves, from the API server's objects to the reply: entries that were there, changes, bad ones.
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { parseMac } from "../../src/net/mac.ts";
import { ipHex } from "../dhcp/packet.ts";
import { until } from "../lab/wait.ts";
import { AgentFixture, network, type PlayedAgent, pool, serverAddress } from "./fixture.ts";

const one = parseMac("02:00:00:00:00:01");
const two = parseMac("02:00:00:00:00:02");
const discover = { 53: "01" };

let fixture: AgentFixture;
beforeEach(async () => {
  fixture = await AgentFixture.open();
});
afterEach(() => fixture.close());

const story = (agent: PlayedAgent, mac = one) => agent.wire.story(network, { mac, options: discover });

async function seen(agent: PlayedAgent, wanted: string, mac = one): Promise<void> {
  await until(async () => story(agent, mac).includes(wanted), { what: `${wanted} for ${mac}` });
}

describe("an agent", () => {
  test("serves what was there before it started, under the name of the VM", async () => {
    await fixture.makePool({ router: "192.168.48.1", leaseTime: 600 });
    await fixture.bind("192.168.48.81", one, "web");
    const agent = fixture.start("a");
    await seen(agent, "OFFER 192.168.48.81");
    const reply = agent.wire.reply(network, { mac: one, options: { 53: "01", 55: "0c0306" } });
    const options = new Map(reply.options);
    expect(Buffer.from(options.get(12)!, "hex").toString()).toBe("web");
    expect(options.get(3)).toBe(ipHex("192.168.48.1"));
    expect(options.get(51)).toBe((600).toString(16).padStart(8, "0"));
    expect(options.get(54)).toBe(ipHex(serverAddress));
    expect(options.has(6)).toBe(false);
    expect(story(agent, two)).toBe("silence: unknown-client");
  });

  test("serves changed options, a moved address and a new MAC with the next message", async () => {
    await fixture.makePool({ dns: ["192.168.48.3"], leaseTime: 600 });
    await fixture.bind("192.168.48.81", one);
    const agent = fixture.start("a");
    await seen(agent, "OFFER 192.168.48.81");
    await fixture.changePool({ ipv4Config: { dns: ["192.168.48.4"], leaseTime: 300 } });
    await until(
      async () => {
        const options = new Map(agent.wire.reply(network, { mac: one, options: { 53: "01", 55: "06" } }).options);
        return options.get(6) === ipHex("192.168.48.4") && options.get(51) === "0000012c";
      },
      { what: "the new options" },
    );
    // Another NIC gets the address: one object goes, another of the same name comes.
    await fixture.unbind("192.168.48.81");
    await fixture.bind("192.168.48.81", two, "vm-2");
    await seen(agent, "OFFER 192.168.48.81", two);
    expect(story(agent, one)).toBe("silence: unknown-client");
    // And is taken away again: nothing wedges.
    await fixture.unbind("192.168.48.81");
    await seen(agent, "unknown-client", two);
    await fixture.bind("192.168.48.82", one);
    await seen(agent, "OFFER 192.168.48.82");
  });

  test("stops serving what cools down, and serves it again when its owner has it back", async () => {
    await fixture.makePool();
    await fixture.bind("192.168.48.81", one);
    const agent = fixture.start("a");
    await seen(agent, "OFFER 192.168.48.81");
    await fixture.release("192.168.48.81", one);
    await seen(agent, "unknown-client");
    await fixture.bind("192.168.48.81", one);
    await seen(agent, "OFFER 192.168.48.81");
  });

  test("serves the others where one pool and one MAC are bad, and says so once", async () => {
    await fixture.makePool({ cidr: "192.168.49.0/24", serverIP: "10.0.0.1" }, "default/bad");
    await fixture.makePool({ ntp: ["pool.ntp.org", "192.168.48.9"], dns: ["zz", "192.168.48.3"] });
    await fixture.bind("192.168.48.81", one);
    await fixture.bind("192.168.48.82", "zz:bad", "broken");
    await fixture.bind("192.168.49.5", two, "of-bad-pool", "default/bad");
    const agent = fixture.start("a");
    await seen(agent, "OFFER 192.168.48.81");
    const options = new Map(agent.wire.reply(network, { mac: one, options: { 53: "01", 55: "062a" } }).options);
    expect(options.get(6)).toBe(ipHex("192.168.48.3"));
    expect(options.get(42)).toBe(ipHex("192.168.48.9"));
    expect(story(agent, two)).toBe("silence: no-pool");
    await fixture.bind("192.168.48.83", "02:00:00:00:00:03", "third");
    await seen(agent, "OFFER 192.168.48.83", parseMac("02:00:00:00:00:03"));
    const told = agent.log.filter((line) => line.includes("not served as it is written"));
    expect(told.filter((line) => line.includes("zz:bad"))).toHaveLength(1);
    expect(told.filter((line) => line.includes("ippl default/bad"))).toHaveLength(1);
    expect(told.filter((line) => line.includes(`ippl ${pool}`))).toHaveLength(1);
    const { findings } = JSON.parse((await agent.page("/leases")).text) as { findings: object };
    expect(Object.keys(findings)).toHaveLength(3);
  });

  test("gives static bindings of the pool, and nothing while the pool is paused or gone", async () => {
    await fixture.makePool({ reservations: [{ ipAddress: "192.168.48.9", macAddress: "02-00-00-00-00-02" }] });
    await fixture.bind("192.168.48.81", one);
    const agent = fixture.start("a");
    await seen(agent, "OFFER 192.168.48.9", two);
    await fixture.changePool({ paused: true });
    await seen(agent, "no-pool");
    await fixture.changePool({ paused: false });
    await seen(agent, "OFFER 192.168.48.81");
    await fixture.deletePool();
    await seen(agent, "no-pool");
    expect(story(agent, two)).toBe("silence: unknown-client");
  });

  test("of one pool serves that pool alone, and learns its network from it", async () => {
    await fixture.makePool();
    await fixture.makePool({ cidr: "192.168.50.0/24", serverIP: "192.168.50.2" }, "default/other");
    await fixture.bind("192.168.48.81", one);
    await fixture.bind("192.168.50.81", two, "vm-2", "default/other");
    const agent = fixture.start("a", { targets: [{ kind: "pool", key: pool, interface: "eth1" }] });
    await seen(agent, "OFFER 192.168.48.81");
    expect(story(agent, two)).toBe("silence: unknown-client");
    await until(async () => (await agent.page("/readyz")).status === 200, { what: "readiness" });
  });

  test("tells what it serves: leases, metrics, readiness", async () => {
    await fixture.makePool();
    await fixture.bind("192.168.48.81", one);
    const agent = fixture.start("a");
    await seen(agent, "OFFER 192.168.48.81");
    await until(async () => fixture.ethernet.holders(serverAddress).length === 1, { what: "a holder" });
    agent.wire.story(network, { mac: one, options: { 53: "03", 50: ipHex("192.168.48.81") } });
    await until(async () => (await agent.page("/readyz")).status === 200, { what: "readiness" });
    const { networks } = JSON.parse((await agent.page("/leases")).text) as { networks: object[] };
    expect(networks).toMatchObject([
      {
        network,
        pools: [{ pool, server: serverAddress, answersHere: true }],
        bindings: [
          { address: "192.168.48.81", mac: one, owner: "default/vm-1", leasedUntil: expect.stringContaining("T") },
        ],
      },
    ]);
    const { text } = await agent.page("/metrics");
    expect(text).toContain(`holdfast_dhcp_bindings{network="${network}",pool="${pool}"} 1`);
    expect(text).toContain(`holdfast_dhcp_server_address_held{network="${network}",pool="${pool}"} 1`);
    expect(text).toMatch(
      /holdfast_dhcp_replies_total\{network="default\/net-48",pool="default\/pool-48",type="ACK"\} 1/,
    );
  });
});
