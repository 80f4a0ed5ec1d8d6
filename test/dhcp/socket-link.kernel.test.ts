// The wire and its interface: down, away and back; addresses that it answers for; probes; relays by frame and by UDP.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { pcapHeader, pcapRecord } from "../../src/dhcp/capture/pcap.ts";
import { openWire } from "../../src/dhcp/socket/open.ts";
import type { Wire } from "../../src/dhcp/socket/wire.ts";
import { parseMac } from "../../src/net/mac.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { Wire as Ethernet } from "../kernel/wire.ts";
import { run } from "../lab/command.ts";
import { ip, packet, unpack } from "./packet.ts";
import { Client, network, pool, serverAddress, WireFixture } from "./socket-fixture.ts";

describe("on a bridge", () => {
  let ethernet: Ethernet;
  let fixture: WireFixture;
  let client: Client;
  beforeEach(async () => {
    ethernet = await Ethernet.of([{ name: "server" }, { name: "guest", addresses: ["10.42.0.9/16"] }]);
    fixture = await WireFixture.open(ethernet.netns("server"));
    client = new Client(ethernet.netns("guest"));
    fixture.wire.setLink({ network, interface: "eth0" });
    await expect.poll(() => states()).toEqual(["up"]);
  });
  afterEach(async () => {
    client?.end();
    await fixture?.wire.close();
    await ethernet?.remove();
  });

  const states = () => fixture.links.map(({ state }) => state);
  const ping = (address = serverAddress, seconds = 5) =>
    client.run("busybox", "ping", "-c", "1", "-W", String(seconds), String(address));

  test("an address is answered for while it is on, and nobody needs it in a kernel", async () => {
    expect(await ping(serverAddress, 1)).toBe(1);
    fixture.wire.answerFor(network, serverAddress, true);
    expect(await ping()).toBe(0);
    const { mac } = await ethernet.link("server");
    expect(await ethernet.ip("guest", "neighbour", "show", String(serverAddress))).toContain(mac);
    expect(await ethernet.ip("server", "-4", "-br", "address", "show", "eth0")).not.toContain("10.42");
    fixture.wire.answerFor(network, serverAddress, false);
    await fixture.wire.counters();
    await ethernet.ip("guest", "neighbour", "flush", "dev", "eth0");
    expect(await ping(serverAddress, 1)).toBe(1);
  });

  test("a neighbour that had the address of another learns ours at once", async () => {
    const { mac } = await ethernet.link("server");
    const stale = ["neighbour", "replace", String(serverAddress), "lladdr", "02:00:00:00:00:99", "dev", "eth0"];
    await ethernet.ip("guest", ...stale, "nud", "reachable");
    fixture.wire.answerFor(network, serverAddress, true);
    await expect.poll(() => ethernet.ip("guest", "neighbour", "show", String(serverAddress))).toContain(mac);
  });

  test("an address that a host of the link has is found, and contested when it is answered for", async () => {
    const held = ip("10.42.0.9");
    const { mac } = await ethernet.link("guest");
    expect(await fixture.wire.probe(network, held, { timeoutMs: 5000 })).toEqual({ kind: "in-use", mac });
    expect(await fixture.wire.probe(network, serverAddress, { timeoutMs: 300 })).toEqual({ kind: "silent" });
    fixture.wire.answerFor(network, held, true);
    await client.run("busybox", "arping", "-U", "-c", "1", "-I", "eth0", "10.42.0.9");
    await expect
      .poll(() => fixture.contests.map((each) => `${each.address} ${each.mac}`))
      .toEqual([`10.42.0.9 ${mac}`]);
  });

  test("a link that goes down, away and comes back is told of, and served again", async () => {
    fixture.wire.answerFor(network, serverAddress, true);
    await ethernet.ip("server", "link", "set", "eth0", "down");
    await expect.poll(() => states()).toEqual(["up", "down"]);
    await expect(fixture.wire.probe(network, serverAddress)).rejects.toMatchObject({ code: "not-up" });
    await ethernet.ip("server", "link", "set", "eth0", "up");
    await expect.poll(() => states()).toEqual(["up", "down", "up"]);
    expect(await ping()).toBe(0);
    await ethernet.ip("server", "link", "delete", "eth0");
    await expect.poll(() => states().at(-1)).toBe("missing");
    const switchEnd = ["link", "add", ethernet.port("server"), "type", "veth", "peer", "name", "eth0", "netns"];
    await ethernet.ip("switch", ...switchEnd, ethernet.netns("server").split("/").at(-1)!);
    await ethernet.ip("switch", "link", "set", ethernet.port("server"), "master", "br0", "up");
    await ethernet.ip("server", "link", "set", "eth0", "up");
    await expect.poll(() => states().at(-1)).toBe("up");
    const { mac } = await ethernet.link("server");
    expect(fixture.links.at(-1)?.mac).toBe(mac);
    expect(await ping()).toBe(0);
  });

  test("another DHCP server on the link is told of", async () => {
    const { mac } = await ethernet.link("guest");
    const script = client.script("rogue", "exit 0");
    const configuration = client.path("udhcpd.conf");
    const words = ["start 10.42.7.1", "end 10.42.7.9", "interface eth0", `lease_file ${client.path("leases")}`];
    await run(["sh", "-c", `printf '%s\n' "$@" > ${configuration}; touch ${client.path("leases")}`, "sh", ...words]);
    client.start("busybox", "udhcpd", "-f", configuration);
    const victim = new Client(ethernet.netns("server"));
    await victim.run("udhcpc", "-i", "eth0", "-f", "-n", "-q", "-B", "-t", "5", "-T", "1", "-s", script);
    victim.end();
    await expect.poll(() => fixture.effects.filter(({ kind }) => kind === "foreign-server").length).toBeGreaterThan(0);
    expect(fixture.effects[0]).toMatchObject({ kind: "foreign-server", network, server: ip("10.42.0.9") });
    expect(mac).not.toBe(fixture.effects[0]?.mac);
  });

  test("a trace written as a capture file is read by tshark without a fault", async () => {
    const { mac } = await ethernet.link("guest");
    fixture.wire.replaceBindings(network, [{ address: ip("10.42.1.1"), pool: pool.name, mac: parseMac(mac) }]);
    fixture.wire.answerFor(network, serverAddress, true);
    expect(await client.run("udhcpc", "-i", "eth0", "-f", "-n", "-q", "-s", client.path("script"))).toBe(0);
    await expect.poll(() => fixture.storyOf(mac)).toHaveLength(4);
    const file = Buffer.concat([pcapHeader(), ...fixture.frames.map(({ atMs, bytes }) => pcapRecord(atMs, bytes))]);
    const fields = ["-T", "fields", "-e", "dhcp.option.dhcp", "-e", "_ws.malformed"];
    writeFileSync(client.path("pcap"), file);
    const read = await run(["tshark", "-r", client.path("pcap"), "-Y", "dhcp", ...fields]);
    expect(read.trim().split(/\s+/)).toEqual(["1", "2", "3", "5"]);
  });
});

async function bound(address: string, port: number): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(port, address);
  await once(socket, "listening");
  return socket;
}

describe("relays", () => {
  let wire: Wire;
  const client = parseMac("02:00:00:00:00:11");
  const handler = { effects: () => {}, link: () => {}, contested: () => {}, lost: () => {} };
  afterEach(async () => {
    await wire?.close();
  });

  test("by UDP, on an address of this machine: the relay gets the answer, and a renewal past it is answered", async () => {
    // All of 127.0.0.0/8 is this machine: the relay is 127.42.0.2, its client 127.42.1.1.
    wire = await openWire({ handler, relay: { address: ip("127.42.0.1") } });
    wire.setPool(network, { ...pool, subnet: parsePrefix("127.42.0.0/16"), serverIdentifier: ip("127.42.0.1") });
    wire.replaceBindings(network, [{ address: ip("127.42.1.1"), pool: pool.name, mac: client }]);
    const [relay, guest] = [await bound("127.42.0.2", 67), await bound("127.42.1.1", 68)];
    try {
      relay.send(packet({ mac: client, giaddr: "127.42.0.2", options: { 53: "01" } }), 67, "127.42.0.1");
      const [offer] = (await once(relay, "message")) as [Uint8Array];
      expect(unpack(offer)).toMatchObject({ yiaddr: "127.42.1.1", giaddr: "127.42.0.2", op: 2 });
      guest.send(packet({ mac: client, ciaddr: "127.42.1.1", options: { 53: "03" } }), 67, "127.42.0.1");
      const [acknowledgement] = (await once(guest, "message")) as [Uint8Array];
      expect(unpack(acknowledgement)).toMatchObject({ yiaddr: "127.42.1.1", ciaddr: "127.42.1.1" });
      const { networks, sockets } = await wire.counters();
      expect([...networks.get(network)!.pools.get(pool.name)!.replies]).toEqual([
        ["OFFER", 1],
        ["ACK", 1],
      ]);
      expect(sockets.get("relay")).toMatchObject({ framesReceived: 2, framesSent: 2, sendsFailed: 0 });
    } finally {
      relay.close();
      guest.close();
    }
  });

  test("a port that is taken is refused with words", async () => {
    wire = await openWire({ handler });
    const socket = await bound("127.0.0.1", 6768);
    await expect(openWire({ handler, relay: { address: ip("127.0.0.1"), port: 6768 } })).rejects.toMatchObject({
      code: "system-call",
      message: expect.stringContaining("UDP port 6768"),
    });
    socket.close();
  });

  test.each([
    ["no-netns", "/run/netns/hf-never-was"],
    ["system-call", "/etc/hostname"],
  ])("%s: a namespace %s is refused", async (code, netns) => {
    wire = await openWire({ handler });
    await expect(openWire({ handler, netns })).rejects.toMatchObject({ code });
  });

  test("a closed wire says so, and takes orders without a sound", async () => {
    wire = await openWire({ handler });
    await wire.close();
    wire.setLink({ network, interface: "eth0" });
    await expect(wire.counters()).rejects.toMatchObject({ code: "closed" });
    await expect(wire.probe(network, serverAddress)).rejects.toMatchObject({ code: "closed" });
  });
});
