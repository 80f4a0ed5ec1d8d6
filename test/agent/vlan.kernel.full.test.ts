// Agents and guests on a VLAN of two real switches, node by node: what passes between them is tagged, a guest of
// another VLAN is in another network, and an agent on the other node takes over.
import { afterEach, beforeEach, expect, test } from "vitest";

import { type ClientKind, ClientsLab, neighbour } from "./clients-lab.ts";
import { timeout, twoAgents } from "./clients-story.ts";
import { Capture } from "./clients-v6-lab.ts";
import { serverAddress } from "./fixture.ts";
import { trunk, VlanSwitches } from "./vlan-switches.ts";

const kinds: Readonly<Record<string, ClientKind>> = { vm0: "dhclient", vm1: "systemd-networkd" };
const addressOf = (host: string) => `192.168.48.8${host.at(-1)}`;

let lab: ClientsLab;
let switches: VlanSwitches;
let capture: Capture;
beforeEach(async () => {
  lab = await ClientsLab.open("vm0", "vm1", "vm2");
  switches = await VlanSwitches.of(lab, [
    { a: 48, vm0: 48, vm2: 49 },
    { b: 48, vm1: 48 },
  ]);
  capture = new Capture(lab, "vlan and udp", trunk);
  await capture.ready();
});
afterEach(async () => {
  await capture?.end();
  await switches?.[Symbol.asyncDispose]();
  await lab.close();
});

test(
  "guests of VLAN 48 obtain, renew and keep their addresses over the trunk; one of VLAN 49 gets none",
  { timeout },
  async () => {
    await lab.fixture.makePool({ leaseTime: 10 });
    const { a, b } = await twoAgents(lab);
    for (const host of ["vm0", "vm1", "vm2"]) await lab.fixture.bind(addressOf(host), await lab.mac(host), host);
    const clients = Object.entries(kinds).map(([host, kind]) => lab.client(kind, host));
    const stranger = lab.client("dhclient", "vm2");
    for (const client of clients) await client.has(addressOf(client.host));
    await Promise.all(clients.map((client) => client.renews(1)));
    // vm1 renews at the agent on the other node.
    expect(await neighbour(lab.wire, "vm1", serverAddress)).toBe(await lab.mac("a"));
    await a.end("SIGKILL");
    await b.says("answering at the server's address");
    await Promise.all(clients.map((client) => client.renews(2)));
    for (const client of clients)
      expect([await client.addresses(), client.losses]).toEqual([[addressOf(client.host)], []]);
    expect(await stranger.addresses()).toEqual([]);
    const tags = await capture.rows("dhcp", "vlan.id", "eth.src");
    expect(new Set(tags.map(([tag]) => tag))).toEqual(new Set(["48", "49"]));
    const ours = new Set([await lab.mac("a"), await lab.mac("b")]);
    expect(new Set(tags.filter(([, source]) => ours.has(source!)).map(([tag]) => tag))).toEqual(new Set(["48"]));
  },
);
