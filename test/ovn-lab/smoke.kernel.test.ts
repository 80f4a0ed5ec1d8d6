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

  test("it moves to another node: same address, same gateway, no connection lost", async () => {
    const places = [
      ...pods.map(({ plan, namespace }) => [plan.name, namespace] as const),
      ["outside", lab.outside],
    ] as const;
    const probes = await Promise.all(
      places.flatMap(([name, from]) =>
        (["tcp", "icmp"] as const).map((kind) => Probe.start({ name, from, kind, address: vm.address })),
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
