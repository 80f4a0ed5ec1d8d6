// The OVN lab with Holdfast's own rows: a VM obtains its address from OVN, is spoken to from pods and from outside,
// moves to another node, and nobody's connection ends.
import { existsSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LabCluster } from "../lab/ovn/cluster/cluster.ts";
import type { PlayedVm } from "../lab/ovn/cluster/played-vm.ts";
import { type OvnLab, ovnLab } from "../lab/ovn/lab.ts";
import { ensureOvn, ovnVersions } from "../lab/ovn/packages.ts";
import type { OvnPod } from "../lab/ovn/pod.ts";
import { Probe } from "../lab/ovn/probe.ts";
import { until } from "../lab/wait.ts";
import { volume } from "../volume.ts";

/** Once per machine and version: apt brings 45 MB, at whatever speed the mirror has. */
const firstTimeMs = 15 * 60_000;
const [gateway, proxyMac] = ["169.254.1.1", "0a:58:a9:fe:01:01"];
const routes = [
  "10.244.0.0/24 dev eth0 scope link  src 10.244.0.8",
  "169.254.1.1 dev eth0 scope link",
  "default via 169.254.1.1 dev eth0",
];

describe.each(volume(ovnVersions.slice(-1), ovnVersions))("OVN %s", (version) => {
  let lab: OvnLab;
  let cluster: LabCluster;
  let vm: PlayedVm;
  let pods: OvnPod[];
  beforeAll(async () => {
    await ensureOvn(version, console.error);
    lab = await ovnLab({ nodes: 2, zones: "one", version });
    cluster = await LabCluster.open(lab);
  }, firstTimeMs);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await lab?.close();
    if (lab !== undefined) expect(existsSync(lab.folder)).toBe(false);
  });

  test("a VM gets its address, and the way out, from OVN", async () => {
    const both = [cluster.pod("a1", "node1", 5), cluster.pod("a2", "node2", 5)];
    [vm, ...pods] = await Promise.all([cluster.vm("vm1", "node1", 8), ...both]);
    const lease = await vm.guest.leased();
    expect(Object.fromEntries(lease)).toMatchObject({
      ip: "10.244.0.8",
      router: gateway,
      serverid: gateway,
      lease: "3500",
      hostname: "vm1",
      mtu: "1400",
      dns: "10.96.0.10",
    });
    expect(await vm.guest.addresses()).toEqual(["10.244.0.8/24"]);
    expect((await vm.guest.routes()).toSorted()).toEqual(routes);
  });

  test("its router answers a link-local address of any making", async () => {
    const asked = async (own: string) => {
      const set = `ip -6 addr flush dev eth0; ip -6 addr add ${own}/64 dev eth0; ip -6 neigh flush dev eth0`;
      await vm.guest.machine.console.run(set);
      // The guest first asks whether anybody else has the address, for a second.
      const look = async () => {
        const words = "ping -c 1 -W 1 fe80::1%eth0; ip -6 neigh show dev eth0";
        return /^fe80::1 lladdr (\S+)/m.exec((await vm.guest.machine.console.run(words)).output)?.[1];
      };
      return await until(look, { what: `fe80::1 to answer ${own}`, everyMs: 200 });
    };
    expect(await asked("fe80::858:aff:fef4:8")).toBe(proxyMac);
    expect(await asked("fe80::1234")).toBe(proxyMac);
  });

  test("it moves to another node: same address, same gateway, no connection lost", async () => {
    const places = [
      ...pods.map(({ plan, namespace }) => [plan.name, namespace] as const),
      ["outside", lab.outside],
    ] as const;
    const probes = await Promise.all(
      places.flatMap(([name, from]) =>
        (["tcp", "icmp"] as const).map((kind) => Probe.start({ name, to: vm.name, from, kind, address: vm.address })),
      ),
    );
    const moved = await vm.move("node2");
    expect(vm.guest.seat.node.name).toBe("node2");
    expect(moved.atMs.resumed).toBeGreaterThanOrEqual(moved.atMs.stopped);
    const reports = await Promise.all(probes.map((probe) => probe.end()));
    for (const { name, kind, sent, answered, lost } of reports) {
      expect({ name, kind, lost }).toEqual({ name, kind, lost: undefined });
      expect(answered, `${kind} from ${name}`).toBeGreaterThan(0);
      if (kind === "tcp") expect(answered).toBe(sent);
    }
    expect((await vm.guest.routes()).toSorted()).toEqual(routes);
    expect(await vm.guest.addresses()).toEqual(["10.244.0.8/24"]);
    await vm.guest.renew();
    const neighbours = await vm.guest.neighbours();
    expect([neighbours.get(gateway), neighbours.get("10.244.0.5")]).toEqual([proxyMac, proxyMac]);
  });
});
