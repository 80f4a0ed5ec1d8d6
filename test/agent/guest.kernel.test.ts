// A virtual machine with a real kernel, whose virtio NIC leaves checksums to the hardware, and busybox's client in it:
// its address from the ledger, renewals, a NIC that nobody knows, a reset while an agent is killed with -9, and a VLAN.
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";

import { parseMac } from "../../src/net/mac.ts";
import { ip } from "../dhcp/packet.ts";
import {
  network as vlanNetwork,
  pool as vlanPool,
  serverAddress as vlanServer,
  WireFixture,
} from "../dhcp/socket-fixture.ts";
import { bootTimeoutMs, type Guest } from "../lab/guest/guest.ts";
import { until } from "../lab/wait.ts";
import type { AgentProcess } from "./clients-lab.ts";
import { serverAddress } from "./fixture.ts";
import { GuestLab, guestMac, strangerMac } from "./guest-lab.ts";

/** A boot, and what agents and clients take beside it. */
const timeout = bootTimeoutMs + 240_000;
const address = "192.168.48.81";
const strangersAddress = "192.168.48.82";
const bound = `bound ${address}/24 from ${serverAddress}`;
const renewed = `renew ${address}/24 from ${serverAddress}`;

let lab: GuestLab;
let guest: Guest;
let a: AgentProcess;
let b: AgentProcess;
let traced: ReturnType<GuestLab["trace"]>;

beforeAll(async () => {
  lab = await GuestLab.open();
  await lab.fixture.makePool({
    leaseTime: 3600,
    router: "192.168.48.1",
    dns: ["192.168.48.9", "192.168.48.10"],
    mtu: 1400,
  });
  await lab.fixture.bind(address, guestMac, "vm");
  traced = lab.trace();
  a = await lab.agent("a");
  await a.says("answering at the server's address");
  b = await lab.agent("b");
  await until(async () => (await b.page("/readyz")).endsWith("\nok\n"), { what: "b to be ready" });
  await until(async () => traced(), { what: "the trace" });
  guest = await lab.startGuest();
}, timeout);
afterAll(() => lab?.close());

/** Waits until the client's script was told so often that it has an address. Failed tries of a busy machine pass. */
async function told(lines: readonly string[], name = "eth0"): Promise<void> {
  onTestFailed(() => console.error(`The guest's console:\n${guest.console.printed}`));
  const look = async () => (await guest.run(`cat /run/told.${name}`)).match(/^(?!leasefail).+$/gm) ?? [];
  await until(async () => (await look()).length >= lines.length, { what: `${name} to be ${lines.at(-1)}` });
  expect(await look()).toEqual(lines);
}

const renew = () => guest.run("killall -USR1 udhcpc");
const answers = (server: unknown) => guest.run(`ping -c 1 -W 10 ${String(server)}`);

/** What its kernel has, and its resolver. */
async function expectConfigured(): Promise<void> {
  expect(await guest.run("ip -4 -o address show eth0")).toContain(`inet ${address}/24 `);
  expect(await guest.run("ip route show default")).toContain("default via 192.168.48.1 dev eth0");
  expect(await guest.run("cat /etc/resolv.conf")).toBe("nameserver 192.168.48.9\nnameserver 192.168.48.10\n");
  expect(await guest.run("cat /sys/class/net/eth0/mtu")).toBe("1400\n");
}

test("a guest gets the address that the ledger has for its MAC, with what its pool says", async () => {
  await told([bound]);
  await expectConfigured();
  await answers(serverAddress);
});

test("it renews by unicast, with a checksum that was left to the hardware", async () => {
  await renew();
  await told([bound, renewed]);
  const partial = () => traced().filter(({ isPartial }) => isPartial);
  await expect.poll(partial).toEqual([{ type: "REQUEST", isPartial: true }]);
});

test("its second NIC, whose MAC no binding names, gets nothing; and an address once it has a binding", async () => {
  const ask = () => guest.console.run("ip link set eth1 up && udhcpc -n -q -i eth1 -s /etc/lease.sh -t 2 -T 1 -A 1");
  const silent = await ask();
  expect(silent.status, silent.output).not.toBe(0);
  expect(silent.output).toContain("no lease, failing");
  expect(await guest.run("ip -4 -o address show eth1")).toBe("");
  expect(await a.page("/metrics")).toMatch(/holdfast_dhcp_silences_total\{[^}]*reason="unknown-client"\} [1-9]/);
  await lab.fixture.bind(strangersAddress, strangerMac, "vm");
  await until(async () => (await ask()).status === 0, { what: "the second NIC's address" });
  expect(await guest.run("ip -4 -o address show eth1")).toContain(`inet ${strangersAddress}/24 `);
  await guest.run("ip address flush dev eth1 && ip link set eth1 down"); // one NIC is in this network from here on
});

test(
  "it is reset while an agent is killed with -9, and has the same from the other, also when it renews",
  { timeout },
  async () => {
    const { spec } = await lab.fixture.hold(address);
    await a.end("SIGKILL");
    await guest.reset();
    await told([bound]);
    await expectConfigured();
    await b.says("answering at the server's address");
    await answers(serverAddress);
    await renew();
    await told([bound, renewed]);
    expect((await lab.fixture.hold(address)).spec).toEqual(spec);
  },
);

test("in a VLAN it gets another network's address, and renews it with such a checksum", async () => {
  await lab.net.cable("trunk");
  const tagged = await WireFixture.open(lab.net.netns);
  try {
    tagged.wire.replaceBindings(vlanNetwork, [
      { address: ip("10.42.1.1"), pool: vlanPool.name, mac: parseMac(guestMac) },
    ]);
    tagged.wire.setLink({ network: vlanNetwork, interface: "trunk", vlan: 48 });
    tagged.wire.answerFor(vlanNetwork, vlanServer, true);
    await guest.run("ip link add link eth0 name eth0.48 type vlan id 48 && ip link set eth0.48 up");
    await guest.run("udhcpc -b -p /run/vlan.pid -i eth0.48 -s /etc/lease.sh -t 5 -T 1 -A 1");
    await told([`bound 10.42.1.1/16 from ${vlanServer}`], "eth0.48");
    await answers(vlanServer);
    await guest.run("kill -USR1 $(cat /run/vlan.pid)");
    await told([`bound 10.42.1.1/16 from ${vlanServer}`, `renew 10.42.1.1/16 from ${vlanServer}`], "eth0.48");
    const obtained = [
      "DISCOVER",
      "-> OFFER 10.42.1.1 in VLAN 48",
      "REQUEST in SELECTING",
      "-> ACK 10.42.1.1 in VLAN 48",
    ];
    const renewal = ["REQUEST in RENEWING or REBINDING", "-> ACK 10.42.1.1 in VLAN 48"];
    // On a busy machine the guest asks again before it has the answer.
    const story = () => {
      const [all, count] = [tagged.storyOf(guestMac), obtained.length + renewal.length];
      return {
        first: all.slice(0, count),
        more: [...new Set(all.slice(count))].filter((line) => !renewal.includes(line)),
      };
    };
    await expect.poll(story).toEqual({ first: [...obtained, ...renewal], more: [] });
    expect(tagged.partialChecksums(guestMac)).toBeGreaterThanOrEqual(1);
  } finally {
    await tagged.wire.close();
  }
});
