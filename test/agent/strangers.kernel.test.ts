// Unmodified clients and agents as processes, where others answer for their addresses; and what `dhcp trace` shows.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { quarantineAnnotation } from "../../src/api/vmnet/marks.ts";
import { run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import { ClientsLab } from "./clients-lab.ts";
import { addressOf, bind, expectKept, timeout, twoAgents } from "./clients-story.ts";
import { ClientV6 } from "./clients-v6-lab.ts";
import { serverAddress } from "./fixture.ts";

let lab: ClientsLab;
beforeEach(async () => {
  lab = await ClientsLab.open("vm0", "vm1", "other");
});
afterEach(() => lab.close());

test("where a stranger has the server's address clients rebind by broadcast", { timeout }, async () => {
  await lab.fixture.makePool({ leaseTime: 10 });
  await lab.wire.ip("other", "address", "add", `${serverAddress}/24`, "dev", "eth0");
  const a = lab.agent("a");
  await bind(lab, "vm0");
  const client = lab.client("dhcpcd", "vm0");
  await client.has(addressOf("vm0"));
  await client.sees("REBIND");
  await until(async () => (await lab.fixture.events()).includes("IPPool pool-48 ServerAddressInUse"), {
    what: "the Event",
  });
  await lab.wire.ip("other", "address", "flush", "dev", "eth0");
  await a.says("answering at the server's address");
  await client.renews(2);
  await expectKept([client]);
});

test(
  "an address that another host has is not offered, whether the agent or the client finds it",
  { timeout },
  async () => {
    await lab.fixture.makePool({ leaseTime: 600 });
    const { a } = await twoAgents(lab);
    const quarantine = async (host: string) =>
      (await lab.fixture.hold(addressOf(host))).metadata.annotations?.[quarantineAnnotation] ?? "";
    // By the agent, when the binding is made.
    await lab.wire.ip("other", "address", "add", `${addressOf("vm0")}/24`, "dev", "eth0");
    await bind(lab, "vm0");
    await until(async () => (await quarantine("vm0")).endsWith("probe"), { what: "the quarantine" });
    const first = lab.client("dhcpcd", "vm0");
    await until(async () => (await a.page("/metrics")).includes('reason="quarantined"'), { what: "silence" });
    expect(await first.addresses()).toEqual([]);
    // By the client, since the host came later.
    await bind(lab, "vm1");
    await until(async () => (await a.page("/leases")).includes(addressOf("vm1")), { what: "the second binding" });
    await until(async () => (await a.page("/metrics")).includes("holdfast_dhcp_checks_pending 0"), {
      what: "the probe",
    });
    await lab.wire.ip("other", "address", "add", `${addressOf("vm1")}/24`, "dev", "eth0");
    const second = lab.client("udhcpc", "vm1");
    await until(async () => (await quarantine("vm1")).endsWith("decline"), { what: "the client's DECLINE" });
    const told = await lab.fixture.events();
    expect(told).toContain("VirtualMachineNetworkConfig vm0 AddressInUse");
    await until(async () => (await lab.fixture.events()).includes("VirtualMachineNetworkConfig vm1 AddressConflict"), {
      what: "the Event",
    });
    expect(await second.addresses()).toEqual([]);
    // Silent again, it is served.
    await lab.wire.ip("other", "address", "flush", "dev", "eth0");
    await first.has(addressOf("vm0"));
  },
);

test("dhcp trace shows and writes what passes", { timeout }, async () => {
  await lab.fixture.makePool({ leaseTime: 600, router: "192.168.48.1" });
  await bind(lab, "vm0");
  const a = lab.agent("a");
  await a.says("answering at the server's address");
  const file = join(lab.folder, "trace.pcap");
  const trace = lab.trace("vm0", "--write", file);
  const one = lab.trace("vm0", "--count", "1");
  // The trace listens when it has opened its file.
  await until(async () => readFileSync(file).length >= 24, { what: "the file" });
  const client = lab.client("dhclient", "vm0");
  await client.has(addressOf("vm0"));
  // Kernels on this link say things in IPv6 meanwhile.
  const lines = () => trace.lines().filter((line) => / (?:DISCOVER|OFFER|REQUEST|ACK) \(/.test(line));
  await until(async () => lines().some((line) => line.includes(" ACK (")), { what: "the ACK" });
  await trace.end();
  await one.ended;
  expect(one.lines()).toHaveLength(1);
  const types = ["DISCOVER", "OFFER", "REQUEST", "ACK"];
  expect(lines().map((line) => types.find((type) => line.includes(` ${type} (`)))).toEqual(types);
  expect(lines()[3]).toContain('routers=192.168.48.1, host name="vm0"');
  const read = await run([
    "tshark",
    "-r",
    file,
    "-Y",
    "dhcp && !_ws.malformed",
    "-T",
    "fields",
    "-e",
    "dhcp.option.dhcp",
  ]);
  expect(read.trim().split("\n").map(Number)).toEqual([1, 2, 3, 5]);
});

test("dhcp trace shows and writes IPv6 too", { timeout }, async () => {
  await lab.fixture.makePool();
  await lab.fixture.changePool({ ipv6Config: { cidr: "fd00:48::/64", leaseTime: 600, dns: ["fd00:48::53"] } });
  await lab.fixture.bind("fd00:48::80", await lab.mac("vm0"), "vm0");
  const file = join(lab.folder, "trace6.pcap");
  const trace = lab.trace("vm0", "--write", file);
  await until(async () => readFileSync(file).length >= 24, { what: "the file" });
  const a = lab.agent("a");
  await a.says("answering at the server's address");
  const client = new ClientV6(lab, "dhcpcd", "vm0");
  await client.has("fd00:48::80");
  const types = ["ROUTER SOLICITATION", "ROUTER ADVERTISEMENT", "SOLICIT", "ADVERTISE", "REQUEST", "REPLY"];
  const shown = (type: string) => trace.lines().find((line) => new RegExp(` ${type}\\b`).test(line));
  await until(async () => types.every((type) => shown(type) !== undefined), { what: "all of them" });
  await client.end();
  await trace.end();
  expect(shown("ROUTER ADVERTISEMENT")).toContain("lifetime 0 M O, prefix=fd00:48::/64 L, DNS servers=fd00:48::53");
  expect(shown("REPLY")).toContain("address=fd00:48::80 preferred 600 valid 600");
  // As many frames as lines, and each as tshark reads it.
  const fields = ["-T", "fields", "-e", "dhcpv6.msgtype", "-e", "icmpv6.type"];
  const read = await run(["tshark", "-r", file, "-Y", "!_ws.malformed", ...fields]);
  const rows = read.split("\n").filter((row) => row !== "");
  expect(rows).toHaveLength(trace.lines().length);
  expect(rows).toEqual(expect.arrayContaining(["1\t", "2\t", "3\t", "7\t", "\t133", "\t134"]));
});
