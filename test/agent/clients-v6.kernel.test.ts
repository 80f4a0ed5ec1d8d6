// Unmodified DHCPv6 clients and two agents as processes, over a bridge and veths whose checksums are partial: they ask
// because our router advertisement tells them to, and get the address that is held for their NIC.
//
// What Debian 12's were seen to send here (options of SOLICIT in their order; then what option 6 asks for):
//
// - dhclient 4.4.3-P1: 1 6 8 3; 23 24 39 31. SOLICIT without an advertisement of a router; REQUEST after the first
//   ADVERTISE, since its preference is 255. RENEW names the server: both agents have the same DUID, and both answer.
// - dhcpcd 9.4.1: router solicitation, SOLICIT once M is told: 1 3 6 8 16; 23 24 82 83. CONFIRM when carrier is back.
// - systemd-networkd 252: router solicitation, then SOLICIT with rapid commit: 14 3 25 39 6 1 8; 23 31 56 82. It wants
//   a prefix too, is told that there is none (25 with 13), and goes on without.
//
// Two agents answer each message. The second answer is the same as the first, and no client minds it.
import { afterEach, beforeEach, expect, test } from "vitest";

import { until } from "../lab/wait.ts";
import { ClientsLab } from "./clients-lab.ts";
import { timeout, twoAgents } from "./clients-story.ts";
import { Capture, ClientV6, type ClientV6Kind, endAllIn, renewed, shownOf } from "./clients-v6-lab.ts";

const hosts: Readonly<Record<ClientV6Kind, string>> = { dhclient: "vm0", dhcpcd: "vm1", "systemd-networkd": "vm2" };
const kinds = Object.keys(hosts) as ClientV6Kind[];
const addressOf = (host: string) => `fd00:48::8${host.at(-1)}`;
const names = [...Object.values(hosts), "other"];
/** T1 after 10 s, T2 after 16 s: a client whose renewals are lost rebinds for 4 s. */
const ipv6Config = { cidr: "fd00:48::/64", leaseTime: 20, dns: ["fd00:48::53"], domainSearch: ["vm.example"] };

let lab: ClientsLab;
let capture: Capture;
beforeEach(async () => {
  lab = await ClientsLab.open(...names);
  capture = new Capture(lab);
  await capture.ready();
  await lab.fixture.makePool();
  // The pool gets IPv6 later than it was made.
  await lab.fixture.changePool({ ipv6Config });
  for (const host of Object.values(hosts)) await lab.fixture.bind(addressOf(host), await lab.mac(host), host);
});
afterEach(async () => {
  await capture?.end();
  for (const host of names) await endAllIn(lab, host);
  await lab.close();
});

const all = async (clients: readonly ClientV6[]) => {
  for (const client of clients) await client.has(addressOf(client.host));
};
test("clients get, renew and rebind the address of their NIC; a stranger gets silence", { timeout }, async () => {
  const { a, b } = await twoAgents(lab);
  const clients = kinds.map((kind) => new ClientV6(lab, kind, hosts[kind]));
  const stranger = new ClientV6(lab, "dhclient", "other");
  await all(clients);
  await Promise.all(clients.map(({ host }) => renewed(b, addressOf(host), 1)));
  // One agent is gone: the other answers the same renewals.
  await a.end("SIGKILL");
  await Promise.all(clients.map(({ host }) => renewed(b, addressOf(host), 1)));
  // Nobody answers until they rebind.
  b.child.kill("SIGSTOP");
  for (const { host } of clients) await capture.sees(`dhcpv6.msgtype == 6 && eth.src == ${await lab.mac(host)}`);
  b.child.kill("SIGCONT");
  await Promise.all(clients.map(({ host }) => renewed(b, addressOf(host), 1)));
  await all(clients);
  expect(await stranger.addresses()).toEqual([]);
  const metrics = await b.page("/metrics");
  const labels = 'network="default/net-48",pool="default/pool-48"';
  for (const type of ["SOLICIT", "RENEW", "REBIND"]) {
    expect(metrics).toContain(`holdfast_dhcpv6_messages_total{${labels},type="${type}"}`);
  }
  expect(metrics).toContain(`holdfast_dhcpv6_bindings{${labels}} 3`);
  expect(metrics).toMatch(/dhcpv6_silences_total{network="default\/net-48",pool="",reason="unknown-client"} [1-9]/);
  await capture.end();
  await expectOrderly();
});

test("clients confirm after their link was down; a release is recorded, and frees nothing", { timeout }, async () => {
  const { a } = await twoAgents(lab);
  const first = new ClientV6(lab, "dhclient", "vm0");
  const second = new ClientV6(lab, "dhcpcd", "vm1");
  await all([first, second]);
  // dhcpcd looks at the link itself; dhclient is started again by whoever does.
  await first.end();
  for (const host of ["vm0", "vm1"]) await lab.wire.ip("switch", "link", "set", lab.wire.port(host), "down");
  for (const host of ["vm0", "vm1"]) await lab.wire.ip("switch", "link", "set", lab.wire.port(host), "up");
  const again = new ClientV6(lab, "dhclient", "vm0");
  for (const host of ["vm0", "vm1"]) await capture.sees(`dhcpv6.msgtype == 4 && eth.src == ${await lab.mac(host)}`);
  await all([again, second]);
  await Promise.all(["vm0", "vm1"].map((host) => renewed(a, addressOf(host), 1)));
  await again.end();
  const leaving = new ClientV6(lab, "dhclient", "vm0", "-r");
  // Its signal for "release and end".
  second.signal("SIGALRM");
  for (const client of [leaving, second]) {
    const address = addressOf(client.host);
    const isReleased = async () => (await shownOf(a, address))?.leasedUntil === "released";
    await until(isReleased, { what: `${address} to be released` });
    await client.has();
    await client.end();
    expect((await lab.fixture.hold(address)).metadata.labels).not.toHaveProperty("holdfast.io/cooling");
    const back = new ClientV6(lab, client.kind, client.host);
    await back.has(address);
  }
});

/** What the agents sent, as tshark reads it. */
async function expectOrderly(): Promise<void> {
  const ours = `(eth.src == ${await lab.mac("a")} || eth.src == ${await lab.mac("b")})`;
  const wrong =
    "_ws.malformed || _ws.expert.severity >= 0x600000 || udp.checksum.status == 0 || icmpv6.checksum.status == 0";
  expect(await capture.rows(`${ours} && (${wrong})`, "frame.number", "_ws.expert.message")).toEqual([]);
  // All advertisements say the same, from either agent: M and O, no router, the prefix on the link, A not set.
  const fields = ["m", "o", "router_lifetime"].map(
    (end) => `icmpv6.nd.ra.${end === "router_lifetime" ? end : `flag.${end}`}`,
  );
  const prefix = ["icmpv6.opt.prefix", "icmpv6.opt.prefix.flag.l", "icmpv6.opt.prefix.flag.a", "icmpv6.opt.rdnss"];
  const told = await capture.rows(`${ours} && icmpv6.type == 134`, ...fields, ...prefix);
  expect(new Set(told.map((row) => row.join(" ")))).toEqual(new Set(["1 1 0 fd00:48:: 1 0 fd00:48::53"]));
  const sources = await capture.rows(`${ours} && icmpv6.type == 134`, "eth.src");
  expect(new Set(sources.flat()).size).toBe(2);
  // Every reply to a client has its own address and DNS; nobody else has a reply.
  for (const host of names) {
    const replies = await capture.rows(
      `${ours} && dhcpv6 && eth.dst == ${await lab.mac(host)}`,
      "dhcpv6.iaaddr.ip",
      "dhcpv6.dns_server",
    );
    const wanted = host === "other" ? [] : [`${addressOf(host)} fd00:48::53`];
    expect([host, [...new Set(replies.map((row) => row.join(" ")))]]).toEqual([host, wanted]);
  }
}
