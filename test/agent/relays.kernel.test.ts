// Clients behind Debian's relay: served where the agent is told to, by frames and by UDP; else not.
import { afterEach, beforeEach, expect, test } from "vitest";

import { until } from "../lab/wait.ts";
import { ClientsLab } from "./clients-lab.ts";
import { timeout } from "./clients-story.ts";
import { ClientV6, endAllIn } from "./clients-v6-lab.ts";
import { serverAddress } from "./fixture.ts";
import { FarLink } from "./relays-lab.ts";

let lab: ClientsLab;
let far: FarLink;
beforeEach(async () => {
  lab = await ClientsLab.open("relay", "far");
  far = new FarLink(lab);
  await far.make();
});
afterEach(async () => {
  far.end();
  await endAllIn(lab, "far");
  await lab.close();
});

test(
  "by --relay links a client behind it obtains and renews, of both families; without it is refused",
  { timeout },
  async () => {
    await lab.fixture.makePool({ leaseTime: 10 });
    await lab.fixture.changePool({ ipv6Config: { cidr: "fd00:48::/64", leaseTime: 20 } });
    await lab.fixture.bind("192.168.48.80", await lab.mac("far"), "far");
    await lab.fixture.bind("fd00:48::80", await lab.mac("far"), "far");
    far.relay(serverAddress);
    far.relayV6();
    const closed = lab.agent("a");
    await closed.says("answering at the server's address");
    const client = lab.client("dhclient", "far");
    const refused = async () => (await closed.page("/metrics")).includes('reason="relay-not-allowed"');
    await until(refused, { what: "a refusal" });
    expect(await client.addresses()).toEqual([]);
    await closed.end("SIGTERM");
    const agent = lab.agent("a", "--relay", "links");
    await agent.says("answering at the server's address");
    await client.has("192.168.48.80");
    await client.renews(1);
    // By way of the router, not by the relay: its answers go to the router's MAC.
    expect(client.losses.filter((line) => line.startsWith("EXPIRE"))).toEqual([]);
    expect(client.events.some((line) => line.startsWith("RENEW"))).toBe(true);
    const second = new ClientV6(lab, "dhclient", "far");
    await second.has("fd00:48::80");
  },
);

test("by --relay ADDRESS it is answered by UDP there", { timeout }, async () => {
  await lab.fixture.makePool({ leaseTime: 600 });
  await lab.fixture.bind("192.168.48.80", await lab.mac("far"), "far");
  await lab.wire.ip("a", "address", "add", "10.9.0.5/24", "dev", "eth0");
  await lab.wire.ip("a", "route", "add", "192.168.48.0/24", "via", "10.9.0.1");
  const agent = lab.agent("a", "--relay", "10.9.0.5");
  await agent.says("answering at the server's address");
  far.relay("10.9.0.5");
  await lab.client("udhcpc", "far").has("192.168.48.80");
});
