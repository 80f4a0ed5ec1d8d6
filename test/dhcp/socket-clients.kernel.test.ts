// Debian's DHCP clients, unmodified, over a bridge with checksum offload on: udhcpc, dhclient and dhcpcd get their
// addresses, renew, reboot, are refused a wrong one, decline and release. Everybody is at it at once.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { BindingDefinition } from "../../src/dhcp/server/binding.ts";
import { parseMac } from "../../src/net/mac.ts";
import { Wire as Ethernet } from "../kernel/wire.ts";
import { until } from "../lab/wait.ts";
import { ip } from "./packet.ts";
import { Client, network, pool, serverAddress, WireFixture } from "./socket-fixture.ts";

interface Guest extends Client {
  readonly mac: string;
}

let ethernet: Ethernet;
let fixture: WireFixture;
const guests = new Map<string, Guest>();
const names = ["busy", "isc", "lost", "roy", "wary", "stranger"] as const;
const address = (name: string) => `10.42.1.${1 + names.indexOf(name as "busy")}`;
const guest = (name: (typeof names)[number]) => guests.get(name)!;

beforeAll(async () => {
  ethernet = await Ethernet.of([
    { name: "server" },
    { name: "squatter", addresses: [`${address("wary")}/16`] },
    ...names.map((name) => ({ name })),
  ]);
  fixture = await WireFixture.open(ethernet.netns("server"));
  const bindings: BindingDefinition[] = [];
  for (const name of names) {
    const { mac } = await ethernet.link(name);
    guests.set(name, Object.assign(new Client(ethernet.netns(name)), { mac }));
    const binding = { address: ip(address(name)), pool: pool.name, mac: parseMac(mac), hostName: `vm-${name}` };
    if (name !== "stranger") bindings.push(binding);
  }
  expect(fixture.wire.replaceBindings(network, bindings)).toEqual([]);
  fixture.wire.setLink({ network, interface: "eth0" });
  fixture.wire.answerFor(network, serverAddress, true);
  await until(async () => fixture.links.some(({ state }) => state === "up"), { what: "the link" });
});
afterAll(async () => {
  for (const client of guests.values()) client.end();
  await fixture?.wire.close();
  await ethernet?.remove();
});

/** expect.poll is not for tests that run at once. */
async function settled(look: () => unknown, wanted: unknown): Promise<void> {
  await until(async () => isDeepStrictEqual(look(), wanted), { what: "it", timeoutMs: 20_000 }).catch(() => {});
  expect(look()).toEqual(wanted);
}

/** Traces come in batches: the story is whole a moment later. */
async function story(client: Guest, ...lines: readonly string[]): Promise<void> {
  await settled(() => fixture.storyOf(client.mac), lines);
  fixture.frames.splice(0, fixture.frames.length, ...fixture.frames.filter(({ bytes }) => !isOf(bytes, client.mac)));
}

const isOf = (bytes: Uint8Array, mac: string) =>
  Buffer.from(bytes).includes(Buffer.from(mac.replaceAll(":", ""), "hex"));
const told = (client: Guest, line: string) =>
  until(async () => client.told.includes(line), { what: `${line}; it said ${client.words}` });

describe.concurrent("clients", () => {
  test("udhcpc obtains its address, renews it by unicast with a partial checksum, and releases it", async () => {
    const client = guest("busy");
    const child = client.start("udhcpc", "-i", "eth0", "-f", "-R", "-s", client.path("script"));
    const mine = `${address("busy")} 10.42.0.254 vm-busy`;
    await told(client, `bound ${mine}`);
    await story(client, "DISCOVER", `-> OFFER ${address("busy")}`, "REQUEST in SELECTING", `-> ACK ${address("busy")}`);
    child.kill("SIGUSR1");
    await told(client, `renew ${mine}`);
    await settled(() => fixture.storyOf(client.mac).length, 2);
    expect(fixture.partialChecksums(client.mac), "the kernel leaves UDP checksums to the card").toBe(1);
    await story(client, "REQUEST in RENEWING or REBINDING", `-> ACK ${address("busy")}`);
    child.kill("SIGUSR2");
    await story(client, "RELEASE");
    await settled(() => fixture.effectsOf(client.mac).at(-1), "released");
  });

  test("dhclient obtains, reboots with what it remembers, and releases", async () => {
    const client = guest("isc");
    const words = ["dhclient", "-4", "-1", "-d", "-cf", "/dev/null", "-lf", client.path("leases")];
    words.push("-pf", client.path("pid"), "-sf", client.path("script"));
    const first = client.start(...words, "eth0");
    await until(async () => client.told.some((line) => line.startsWith(`BOUND ${address("isc")}`)), {
      what: `BOUND; it said ${client.words}`,
    });
    await story(client, "DISCOVER", `-> OFFER ${address("isc")}`, "REQUEST in SELECTING", `-> ACK ${address("isc")}`);
    first.kill("SIGKILL");
    const second = client.start(...words, "eth0");
    await until(async () => client.told.some((line) => line.startsWith(`REBOOT ${address("isc")}`)), {
      what: `REBOOT; it said ${client.words}`,
    });
    await story(client, "REQUEST in INIT-REBOOT", `-> ACK ${address("isc")}`);
    second.kill("SIGKILL");
    // dhclient takes its address away at once: a RELEASE that waits for the server's ARP reply would be lost then.
    expect(await client.run("busybox", "ping", "-c", "1", "-W", "10", String(serverAddress))).toBe(0);
    expect(await client.run(...words, "-r", "eth0")).toBe(0);
    await story(client, "RELEASE");
  });

  test("dhclient that remembers a wrong address is refused it, and gets its own", async () => {
    const client = guest("lost");
    const lease = [
      'lease { interface "eth0"; fixed-address 10.42.9.9; option subnet-mask 255.255.0.0;',
      "option dhcp-lease-time 3600; option dhcp-message-type 5; option dhcp-server-identifier 10.42.0.1;",
      "renew never; rebind never; expire never; }",
    ];
    writeFileSync(client.path("leases"), `${lease.join("\n")}\n`);
    const words = ["dhclient", "-4", "-1", "-d", "-cf", "/dev/null", "-lf", client.path("leases")];
    client.start(...words, "-pf", client.path("pid"), "-sf", client.path("script"), "eth0");
    await until(async () => client.told.some((line) => line.startsWith(`BOUND ${address("lost")}`)), {
      what: `BOUND; it said ${client.words}`,
    });
    await story(
      client,
      "REQUEST in INIT-REBOOT",
      "-> NAK",
      "DISCOVER",
      `-> OFFER ${address("lost")}`,
      "REQUEST in SELECTING",
      `-> ACK ${address("lost")}`,
    );
  });

  test("dhcpcd obtains its address, with a client identifier of its own making, and reboots", async () => {
    const client = guest("roy");
    writeFileSync(client.path("conf"), "duid\nnoarp\nnoipv4ll\nnohook resolv.conf\noption host_name\n");
    // It keeps its leases and its DUID in places of the machine: it gets others.
    const dhcpcd = `dhcpcd -f ${client.path("conf")} -4 -B -1 -c ${client.path("script")} eth0`;
    const places = "mount -t tmpfs none /var/lib/dhcpcd && mount -t tmpfs none /run";
    const status = await client.run("unshare", "--mount", "sh", "-ec", `${places}; ${dhcpcd}; ${dhcpcd}`);
    expect(status, client.words).toBe(0);
    const first = ["DISCOVER", `-> OFFER ${address("roy")}`, "REQUEST in SELECTING", `-> ACK ${address("roy")}`];
    await story(client, ...first, "REQUEST in INIT-REBOOT", `-> ACK ${address("roy")}`);
    expect(await ethernet.ip("roy", "-4", "-br", "address", "show", "eth0")).toContain(address("roy"));
  });

  test("udhcpc that finds another host at its address declines it; it is in quarantine, and asked for in vain", async () => {
    const client = guest("wary");
    const words = ["udhcpc", "-i", "eth0", "-f", "-a", "-n", "-q", "-t", "1", "-T", "1", "-A", "1"];
    client.start(...words, "-s", client.path("script"));
    await settled(() => fixture.storyOf(client.mac).slice(4, 6), ["DECLINE", "DISCOVER (quarantined)"]);
    await settled(() => fixture.effectsOf(client.mac), ["leased", "quarantined", "conflict"]);
    expect(client.told.some((line) => line.startsWith("bound"))).toBe(false);
  });

  test("a stranger gets nothing", async () => {
    const client = guest("stranger");
    const words = ["udhcpc", "-i", "eth0", "-f", "-n", "-q", "-t", "2", "-T", "1", "-s", client.path("script")];
    expect(await client.run(...words)).not.toBe(0);
    await story(client, "DISCOVER (unknown-client)", "DISCOVER (unknown-client)");
  });
});

describe("over a VLAN", () => {
  let trunk: Ethernet;
  let tagged: WireFixture;
  let client: Client;
  let vlanSwitch: Client;
  afterAll(async () => {
    client?.end();
    vlanSwitch?.end();
    await tagged?.wire.close();
    await trunk?.remove();
  });

  test("udhcpc behind a port of VLAN 48 is answered with the tag, and one of VLAN 49 is not", async () => {
    trunk = await Ethernet.of([{ name: "server" }, { name: "guest" }, { name: "alien" }]);
    for (const host of ["server", "guest", "alien"])
      await trunk.ip("switch", "link", "set", trunk.port(host), "nomaster");
    vlanSwitch = new Client(trunk.netns("switch"));
    const program = fileURLToPath(new URL("./vlan-switch.ts", import.meta.url));
    const ports = [trunk.port("server"), `${trunk.port("guest")}=48`, `${trunk.port("alien")}=49`];
    vlanSwitch.start(process.execPath, program, ...ports);
    await until(async () => vlanSwitch.words.includes("ready"), { what: "the switch" });
    tagged = await WireFixture.open(trunk.netns("server"));
    client = new Client(trunk.netns("guest"));
    const alien = new Client(trunk.netns("alien"));
    const [{ mac }, { mac: alienMac }] = [await trunk.link("guest"), await trunk.link("alien")];
    tagged.wire.replaceBindings(network, [
      { address: ip("10.42.1.1"), pool: pool.name, mac: parseMac(mac) },
      { address: ip("10.42.1.2"), pool: pool.name, mac: parseMac(alienMac) },
    ]);
    tagged.wire.setLink({ network, interface: "eth0", vlan: 48 });
    tagged.wire.answerFor(network, serverAddress, true);
    await until(async () => tagged.links.some(({ state }) => state === "up"), { what: "the link" });
    const words = ["udhcpc", "-i", "eth0", "-f", "-n", "-q", "-t", "2", "-T", "1", "-s"];
    const [status, alienStatus] = await Promise.all([
      client.run(...words, client.path("script")),
      alien.run(...words, alien.path("script")),
    ]);
    alien.end();
    expect([status, alienStatus === 0], client.words).toEqual([0, false]);
    await expect
      .poll(() => tagged.storyOf(mac))
      .toEqual(["DISCOVER", "-> OFFER 10.42.1.1 in VLAN 48", "REQUEST in SELECTING", "-> ACK 10.42.1.1 in VLAN 48"]);
    expect(tagged.storyOf(alienMac)).toEqual([]);
    expect(await client.run("busybox", "ping", "-c", "1", "-W", "5", String(serverAddress)), client.words).toBe(0);
  });
});
