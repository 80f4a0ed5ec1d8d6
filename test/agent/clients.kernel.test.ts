// Unmodified clients and two agents as processes: leases, renewals, an agent killed with -9 or told to stop, an API
// server that is away.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import { type Client, type ClientKind, ClientsLab, neighbour } from "./clients-lab.ts";
import { addressOf, bind, expectKept, hosts, timeout, twoAgents } from "./clients-story.ts";
import { serverAddress } from "./fixture.ts";

const kinds: readonly ClientKind[] = ["dhclient", "udhcpc", "dhcpcd", "systemd-networkd"];

let lab: ClientsLab;
beforeEach(async () => {
  lab = await ClientsLab.open(...hosts, "other");
});
afterEach(() => lab.close());

/** One of each kind, with its address. */
async function clients(): Promise<Client[]> {
  for (const host of hosts) await bind(lab, host);
  const all = hosts.map((host, index) => lab.client(kinds[index]!, host));
  for (const client of all) await client.has(addressOf(client.host));
  return all;
}

test("clients keep their addresses while the agent that they renew at is killed with -9", { timeout }, async () => {
  await lab.fixture.makePool({ leaseTime: 10, router: "192.168.48.1" });
  const { a, b } = await twoAgents(lab);
  const all = await clients();
  await Promise.all(all.map((client) => client.renews(1)));
  expect(await neighbour(lab.wire, "vm0", serverAddress)).toBe(await lab.mac("a"));
  await a.end("SIGKILL");
  await Promise.all(all.map((client) => client.renews(2)));
  await b.says("answering at the server's address");
  await Promise.all(all.map((client) => client.renews(1)));
  await expectKept(all);
  expect(await neighbour(lab.wire, "vm0", serverAddress)).toBe(await lab.mac("b"));
});

test("an upgrade leaves no gap: who is told to stop answers until the other does", { timeout }, async () => {
  await lab.fixture.makePool({ leaseTime: 10 });
  const { a, b } = await twoAgents(lab);
  const all = await clients();
  const pinging = run([
    "nsenter",
    `--net=${lab.wire.netns("vm0")}`,
    "busybox",
    "ping",
    "-c",
    "10",
    "-W",
    "1",
    serverAddress,
  ]);
  await a.end("SIGTERM");
  await b.says("answering at the server's address");
  await Promise.all(all.map((client) => client.renews(1)));
  await expectKept(all);
  expect(await pinging).toContain(" 0% packet loss");
});

test(
  "with the API server away the agents go on, also one that starts then, and one that takes the address",
  { timeout },
  async () => {
    // Until both agents are killed and one is there again: on a busy machine 10 s were over before.
    await lab.fixture.makePool({ leaseTime: 16 });
    const { a, b } = await twoAgents(lab);
    const all = await clients();
    // What both serve is on their disks.
    for (const name of ["a", "b"]) {
      const path = join(lab.folder, `state-${name}`, "dhcp-agent.state");
      await until(async () => readFileSync(path, "utf8").includes(addressOf("vm3")), { what: `the state of ${name}` });
    }
    await lab.serverAway();
    await a.end("SIGKILL");
    await b.says("answering at the server's address");
    await Promise.all(all.map((client) => client.renews(1)));
    await b.end("SIGKILL");
    const again = lab.agent("a");
    await again.says("serving what was served last");
    await again.says("answering at the server's address");
    await Promise.all(all.map((client) => client.renews(1)));
    await expectKept(all);
    // And a client that begins from nothing.
    await all[0]!.end();
    await lab.wire.ip("vm0", "address", "flush", "dev", "eth0");
    await lab.client("udhcpc", "vm0").has(addressOf("vm0"));
  },
);
