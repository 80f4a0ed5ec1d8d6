// What clients-v6 leaves out of real DHCPv6 clients and two agents: an INFORMATION-REQUEST, and a DECLINE of an address
// that another host has.
import { afterEach, beforeEach, expect, test } from "vitest";

import { quarantineAnnotation } from "../../src/api/vmnet/marks.ts";
import { until } from "../lab/wait.ts";
import { ClientsLab } from "./clients-lab.ts";
import { timeout, twoAgents } from "./clients-story.ts";
import { Capture, ClientV6, endAllIn } from "./clients-v6-lab.ts";

const address = "fd00:48::80";
const ipv6Config = { cidr: "fd00:48::/64", leaseTime: 600, dns: ["fd00:48::53"], domainSearch: ["vm.example"] };

let lab: ClientsLab;
let capture: Capture;
beforeEach(async () => {
  lab = await ClientsLab.open("vm0", "other");
  capture = new Capture(lab);
  await capture.ready();
  await lab.fixture.makePool();
  await lab.fixture.changePool({ ipv6Config });
  await lab.fixture.bind(address, await lab.mac("vm0"), "vm0");
});
afterEach(async () => {
  await capture?.end();
  for (const host of ["vm0", "other"]) await endAllIn(lab, host);
  await lab.close();
});

test(
  "who asks for information gets DNS and domains, and no address; a stranger gets nothing",
  { timeout },
  async () => {
    await twoAgents(lab);
    const [known, stranger] = ["vm0", "other"].map((host) => new ClientV6(lab, "dhclient", host, "-S"));
    const [mac, strange] = [await lab.mac("vm0"), await lab.mac("other")];
    for (const each of [mac, strange]) await capture.sees(`dhcpv6.msgtype == 11 && eth.src == ${each}`);
    await capture.sees(`dhcpv6.msgtype == 7 && eth.dst == ${mac} && dhcpv6.dns_server == fd00:48::53`, "the reply");
    const replies = await capture.rows(
      `dhcpv6.msgtype == 7 && eth.dst == ${mac}`,
      "dhcpv6.search_list_entry",
      "dhcpv6.iaaddr.ip",
    );
    expect(new Set(replies.map((row) => row.join()))).toEqual(new Set(["vm.example.,"]));
    expect(await known!.addresses()).toEqual([]);
    expect(await stranger!.addresses()).toEqual([]);
    expect(await capture.rows(`dhcpv6.msgtype == 7 && eth.dst == ${strange}`, "frame.number")).toEqual([]);
  },
);

test("an address that another host has is declined, and offered no more until it is free", { timeout }, async () => {
  const { a, b } = await twoAgents(lab);
  await lab.wire.ip("other", "address", "add", `${address}/128`, "dev", "eth0", "nodad");
  const client = new ClientV6(lab, "dhclient", "vm0", "--decline-wait-time 1");
  const word = async () => (await lab.fixture.hold(address)).metadata.annotations?.[quarantineAnnotation];
  await until(async () => (await word())?.endsWith("decline"), { what: "the quarantine" });
  await capture.sees(`dhcpv6.msgtype == 9 && eth.src == ${await lab.mac("vm0")}`, "DECLINE");
  for (const agent of [a, b]) {
    const isSilent = async () =>
      /dhcpv6_silences_total{[^}]*reason="quarantined"} [1-9]/.test(await agent.page("/metrics"));
    await until(isSilent, { what: "a SOLICIT in vain" });
  }
  expect(await client.addresses()).toEqual([]);
  expect(await lab.fixture.events()).toContain("VirtualMachineNetworkConfig vm0 AddressConflict");
  await lab.wire.ip("other", "address", "flush", "dev", "eth0", "scope", "global");
  await lab.fixture.endQuarantine(address);
  await client.has(address);
});
