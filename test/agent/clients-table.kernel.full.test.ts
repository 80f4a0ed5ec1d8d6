// Each of Debian's four clients with two agents: obtain, renew, decline, rebind while the agent that it renews at is
// killed with -9, a NAK for an address that is not its any more, reboot, release. What the wire carried is what counts:
// a capture on the switch, read by tshark.
import { afterEach, beforeEach, expect, test } from "vitest";

import { quarantineAnnotation } from "../../src/api/vmnet/marks.ts";
import { run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import { type Client, type ClientKind, ClientsLab } from "./clients-lab.ts";
import { addressOf, hosts, timeout, twoAgents } from "./clients-story.ts";
import { Capture, shownOf } from "./clients-v6-lab.ts";
import { serverAddress } from "./fixture.ts";

const kinds: readonly ClientKind[] = ["dhclient", "udhcpc", "dhcpcd", "systemd-networkd"];
const laterOf = (host: string) => addressOf(host).replace(".8", ".9");

let lab: ClientsLab;
let capture: Capture;
beforeEach(async () => {
  lab = await ClientsLab.open(...hosts, "other");
  capture = new Capture(lab, "udp port 67 or udp port 68");
  await capture.ready();
});
afterEach(async () => {
  await capture?.end();
  await lab.close();
});

/** What clients send in each state, as Wireshark names the fields. */
const states = {
  RENEWING: `dhcp.option.dhcp == 3 && ip.dst == ${serverAddress} && dhcp.ip.client != 0.0.0.0`,
  REBINDING: "dhcp.option.dhcp == 3 && ip.dst == 255.255.255.255 && dhcp.ip.client != 0.0.0.0",
  DECLINE: "dhcp.option.dhcp == 4",
  NAK: "dhcp.option.dhcp == 6",
  "INIT-REBOOT":
    "dhcp.option.dhcp == 3 && ip.dst == 255.255.255.255 && dhcp.ip.client == 0.0.0.0 && !dhcp.option.dhcp_server_id",
  RELEASE: `dhcp.option.dhcp == 7 && ip.dst == ${serverAddress}`,
} as const;

/** As the machine that it runs on does: what the client keeps on its disk stays. */
async function reboot(client: Client): Promise<Client> {
  const { kind, host } = client;
  if (kind === "systemd-networkd") {
    // It keeps no lease on a disk: what it remembers is asked for when its link is back.
    await lab.wire.ip(host, "link", "set", "eth0", "down");
    await until(async () => client.events.includes("STOPPED"), { what: `${kind} to stop` });
    await lab.wire.ip(host, "link", "set", "eth0", "up");
    return client;
  }
  await client.end();
  await lab.wire.ip(host, "address", "flush", "dev", "eth0");
  return lab.client(kind, host);
}

async function sent(client: Client, state: keyof typeof states): Promise<void> {
  const mac = await lab.mac(client.host);
  await capture.sees(`dhcp.hw.mac_addr == ${mac} && ${states[state]}`, `${state} of ${client.kind}`);
}

const each = (clients: readonly Client[], step: (client: Client) => Promise<void>) => Promise.all(clients.map(step));

test("four clients, two agents, each state of the table", { timeout }, async () => {
  await lab.fixture.makePool({ leaseTime: 10 });
  const { a, b } = await twoAgents(lab);
  for (const host of hosts) await lab.fixture.bind(addressOf(host), await lab.mac(host), host);
  await until(async () => (await a.page("/leases")).includes(addressOf("vm3")), { what: "the bindings" });
  await until(async () => (await a.page("/metrics")).includes("holdfast_dhcp_checks_pending 0"), { what: "probes" });

  // DECLINE: another host took the address after the agents had asked for it. Then it is gone, and so is the word.
  for (const host of hosts) await lab.wire.ip("other", "address", "add", `${addressOf(host)}/32`, "dev", "eth0");
  const clients = hosts.map((host, index) => lab.client(kinds[index]!, host, { declines: true }));
  await each(clients, (client) => sent(client, "DECLINE"));
  const word = async (host: string) =>
    (await lab.fixture.hold(addressOf(host))).metadata.annotations?.[quarantineAnnotation];
  for (const host of hosts) await until(async () => (await word(host)) !== undefined, { what: `the word of ${host}` });
  await lab.wire.ip("other", "address", "flush", "dev", "eth0");
  for (const host of hosts) await lab.fixture.endQuarantine(addressOf(host));

  // systemd-networkd keeps the address that it declined as one that it is removing, and never gets ready with it.
  await clients.pop()!.end();
  await lab.wire.ip("vm3", "address", "flush", "dev", "eth0");
  clients.push(lab.client("systemd-networkd", "vm3"));

  await each(clients, (client) => client.has(addressOf(client.host)));
  await each(clients, (client) => client.renews(1));
  await each(clients, (client) => sent(client, "RENEWING"));

  // Their neighbour is dead, and the word of the one who took over got lost: they rebind.
  const dead = await lab.mac("a");
  for (const host of hosts) {
    await lab.wire.ip(host, "neigh", "replace", serverAddress, "lladdr", dead, "nud", "permanent", "dev", "eth0");
  }
  await a.end("SIGKILL");
  await each(clients, (client) => client.renews(1));
  await each(clients, (client) => sent(client, "REBINDING"));
  await each(clients, async (client) => {
    expect([client.kind, await client.addresses()]).toEqual([client.kind, [addressOf(client.host)]]);
  });
  await b.says("answering at the server's address");
  for (const host of hosts) await lab.wire.ip(host, "neigh", "flush", "to", serverAddress, "dev", "eth0", "nud", "all");

  // The NIC gets another address: the one that they have is refused, and the new one taken.
  for (const host of hosts) await lab.fixture.unbind(addressOf(host));
  for (const host of hosts) await lab.fixture.bind(laterOf(host), await lab.mac(host), host);
  for (const client of clients) if (client.kind === "udhcpc") client.signal("SIGUSR1");
  await each(clients, (client) => sent(client, "NAK"));
  await each(clients, (client) => client.has(laterOf(client.host)));
});

test("four clients, two agents: reboot and release", { timeout }, async () => {
  await lab.fixture.makePool({ leaseTime: 600 });
  const { a, b } = await twoAgents(lab);
  for (const host of hosts) await lab.fixture.bind(addressOf(host), await lab.mac(host), host);
  const before = hosts.map((host, index) => lab.client(kinds[index]!, host));
  await each(before, (client) => client.has(addressOf(client.host)));
  const clients = await Promise.all(before.map(reboot));
  await each(clients, (client) => client.has(addressOf(client.host)));
  // udhcpc knows no INIT-REBOOT: it begins with a DISCOVER each time.
  for (const client of clients) if (client.kind !== "udhcpc") await sent(client, "INIT-REBOOT");

  // Each of them hands its RELEASE to the kernel and takes its address away at once. Where the server's MAC is unknown
  // the kernel asks for it first, and has then no address to send from: nothing reaches the wire. So it is known here.
  for (const { host } of clients) {
    const ping = ["busybox", "ping", "-c", "1", "-W", "10", serverAddress];
    await run(["nsenter", `--net=${lab.wire.netns(host)}`, "--", ...ping]);
  }
  await each(clients, (client) => lab.release(client));
  await each(clients, (client) => sent(client, "RELEASE"));
  const shown = async (host: string) => (await shownOf(a, addressOf(host)))?.leasedUntil;
  for (const host of hosts)
    await until(async () => (await shown(host)) === "released", { what: `${host} at the agent` });
  // It is noted, and frees nothing: the address is the VM's, and it has it again.
  for (const [index, { host }] of clients.entries()) {
    await lab.wire.ip(host, "address", "flush", "dev", "eth0");
    clients[index] = lab.client("udhcpc", host);
  }
  await each(clients, (client) => client.has(addressOf(client.host)));
  expect(await b.page("/leases")).toContain(addressOf("vm3"));
});
