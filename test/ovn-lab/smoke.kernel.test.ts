// The OVN lab by itself, with a topology written by hand: a VM obtains its address from OVN, is spoken to from pods and
// from outside, moves to another node, and nobody's connection ends.
import { existsSync } from "node:fs";

import { afterAll, beforeAll, expect, test } from "vitest";

import type { OvnGuest } from "../lab/ovn/guest.ts";
import { HandTopology, linkLocalGateway, macOf, proxyMac } from "../lab/ovn/hand-topology.ts";
import { type OvnLab, ovnLab } from "../lab/ovn/lab.ts";
import { migrate } from "../lab/ovn/migration.ts";
import { ensureOvn } from "../lab/ovn/packages.ts";
import { Probe } from "../lab/ovn/probe.ts";

/** Once per machine: apt brings 45 MB, at whatever speed the mirror has. */
const firstTimeMs = 15 * 60_000;
const address = "10.244.0.8";

let lab: OvnLab;
let topology: HandTopology;
let guest: OvnGuest;
beforeAll(async () => {
  await ensureOvn("25.03", console.error);
  lab = await ovnLab({ nodes: 2, zones: "one", version: "25.03" });
  topology = await HandTopology.open(lab);
}, firstTimeMs);
afterAll(async () => {
  await topology?.[Symbol.asyncDispose]();
  await lab?.close();
  if (lab !== undefined) expect(existsSync(lab.folder)).toBe(false);
});

test("a VM gets its address, and the way out, from OVN", async () => {
  await topology.dhcp("vm1", address);
  await topology.vmPort("vm1", "vm1-source", "node1", address);
  const booted = lab.guest("node1", { name: "vm1", port: "vm1-source", mac: macOf(address) });
  const pods = [topology.pod("a1", "node1", 5), topology.pod("a2", "node2", 5)];
  [guest] = await Promise.all([booted, ...pods]);
  const lease = await guest.leased();
  expect(Object.fromEntries(lease)).toMatchObject({
    ip: address,
    router: linkLocalGateway,
    serverid: linkLocalGateway,
    lease: "3500",
    hostname: "vm1",
    mtu: "1400",
  });
  expect(await guest.addresses()).toEqual([`${address}/24`]);
  expect((await guest.routes()).toSorted()).toEqual([
    "10.244.0.0/24 dev eth0 scope link  src 10.244.0.8",
    "169.254.1.1 dev eth0 scope link",
    "default via 169.254.1.1 dev eth0",
  ]);
});

test("it moves to another node: same address, same gateway, no connection lost", async () => {
  const from = [
    ["a1", topology.podNamed("a1").namespace],
    ["a2", topology.podNamed("a2").namespace],
    ["outside", lab.outside],
  ] as const;
  const probes = await Promise.all(
    from.flatMap(([name, place]) =>
      (["tcp", "icmp"] as const).map((kind) => Probe.start({ name, from: place, kind, address })),
    ),
  );
  const before = [await guest.routes(), await guest.addresses()];
  await topology.vmPort("vm1", "vm1-target", "node2", address);
  const moved = await migrate(guest, lab.node("node2"), {
    port: "vm1-target",
    at: { resumed: () => topology.moved(guest, address, { node: "node1", port: "vm1-source" }) },
  });
  expect(guest.seat.node.name).toBe("node2");
  expect(moved.atMs.resumed).toBeGreaterThanOrEqual(moved.atMs.stopped);
  const reports = await Promise.all(probes.map((probe) => probe.end()));
  for (const { name, kind, sent, answered, lost } of reports) {
    expect({ name, kind, lost }).toEqual({ name, kind, lost: undefined });
    expect(answered, `${kind} from ${name}`).toBeGreaterThan(0);
    if (kind === "tcp") expect(answered).toBe(sent);
  }
  expect([await guest.routes(), await guest.addresses()]).toEqual(before);
  await guest.renew();
  const neighbours = await guest.neighbours();
  expect([neighbours.get(linkLocalGateway), neighbours.get("10.244.0.5")]).toEqual([proxyMac, proxyMac]);
});
