// Networks of OVN-Kubernetes with an ipam of ours: their subnets are the ranges, their name is the domain, and nothing
// comes with an address that nobody configured.
import { expect, it } from "vitest";

import { ipPools, pods } from "../../../src/cluster/resources.ts";
import { given, network, pod } from "../fixture.ts";
import type { GetFixture } from "../suite.ts";

const overlay = (name: string, more: object = {}, ipam: object = {}) =>
  network(name, ipam, { type: "ovs", topology: "layer2", subnets: "10.44.0.0/29,fd44::/64", ...more });

export function overlayStories(fixture: GetFixture): void {
  it("one address of each subnet, past what is excluded, in a pool and a domain of the network's own", async () => {
    const daemonFixture = await fixture().daemon();
    const config = overlay("ovn-a", { excludeSubnets: "10.44.0.0/31,fd44::/126", netAttachDefName: "default/ovn-a" });
    const told = await daemonFixture.ask({ command: "ADD", ...pod("o1"), config });
    expect(told.json).toEqual({
      cniVersion: "1.0.0",
      ips: [{ address: "10.44.0.2/29" }, { address: "fd44::4/64" }],
      dns: {},
    });
    expect(await fixture().held("network:ovn-a ")).toEqual([
      "10.44.0.2 default/o1 eth0 c-o1",
      "fd44::4 default/o1 eth0 c-o1",
    ]);
    const { items } = await fixture().admin.list(ipPools, { namespace: "kube-system" });
    const names = items.map(({ metadata }) => metadata.name);
    expect(names).toEqual(expect.arrayContaining(["ovn-a-10.44.0.0-29", "ovn-a-fd44---64"]));
    expect(
      await daemonFixture.ask({ command: "CHECK", ...pod("o1"), config: { ...config, prevResult: told.json } }),
    ).toMatchObject({ status: 0 });
    await daemonFixture.ask({ command: "DEL", ...pod("o1"), config });
    expect(await fixture().held("network:ovn-a ")).toEqual([]);
  });

  it("two networks with the same subnets do not know each other; two definitions of one network do", async () => {
    const daemonFixture = await fixture().daemon();
    const other = await fixture().daemon({ node: "node2" });
    expect(await given(daemonFixture, { ...pod("o2"), config: overlay("ovn-b") })).toEqual([
      "10.44.0.1/29",
      "fd44::1/64",
    ]);
    expect(await given(daemonFixture, { ...pod("o3"), config: overlay("Ovn_b") })).toEqual([
      "10.44.0.1/29",
      "fd44::1/64",
    ]);
    const elsewhere = overlay("ovn-b", { netAttachDefName: "shop/ovn-b" });
    expect(await given(other, { ...pod("o4"), config: elsewhere })).toEqual(["10.44.0.2/29", "fd44::2/64"]);
  });

  it("a subnet that is changed beside ipam counts from the next ADD on", async () => {
    const daemonFixture = await fixture().daemon();
    expect(await given(daemonFixture, { ...pod("o5"), config: overlay("ovn-c", { subnets: "10.44.1.0/29" }) })).toEqual(
      ["10.44.1.1/29"],
    );
    expect(await given(daemonFixture, { ...pod("o6"), config: overlay("ovn-c", { subnets: "10.44.2.0/29" }) })).toEqual(
      ["10.44.2.1/29"],
    );
  });

  it("routes and DNS come where they are configured", async () => {
    const daemonFixture = await fixture().daemon();
    const ipam = { gateway: "10.44.0.1", routes: [{ dst: "0.0.0.0/0" }], dns: { nameservers: ["10.44.0.1"] } };
    const told = await daemonFixture.ask({
      command: "ADD",
      ...pod("o7"),
      config: overlay("ovn-d", { subnets: "10.44.0.0/29" }, ipam),
    });
    expect(told.json).toMatchObject({
      ips: [{ address: "10.44.0.2/29", gateway: "10.44.0.1" }],
      routes: [{ dst: "0.0.0.0/0" }],
      dns: { nameservers: ["10.44.0.1"] },
    });
  });

  it.each([
    ["layer3", { topology: "layer3", subnets: "10.44.0.0/16" }, "belong to nodes"],
    ["nothing to keep", { subnets: undefined, allowPersistentIPs: true }, "write subnets"],
  ])("%s is refused with the reason", async (_, more, reason) => {
    const daemonFixture = await fixture().daemon();
    const told = await daemonFixture.ask({ command: "ADD", ...pod("o8"), config: overlay("ovn-e", more) });
    expect(told).toMatchObject({ status: 1, json: { code: 7 } });
    expect(told.json.msg).toContain(reason);
  });

  it("a pod that is no VM's gets an address of its own where VMs keep theirs", async () => {
    const daemonFixture = await fixture().daemon();
    const made = await fixture().pod("default", "o9");
    const config = overlay("ovn-f", { subnets: "10.44.0.0/29", allowPersistentIPs: true });
    const plain = {
      ...pod("o9"),
      args: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=o9;K8S_POD_UID=${made.metadata.uid}`,
    };
    expect(await given(daemonFixture, { ...plain, config })).toEqual(["10.44.0.1/29"]);
    await daemonFixture.ask({ command: "DEL", ...plain, config });
    expect(await fixture().held("network:ovn-f ")).toEqual([]);
    await fixture().admin.delete(pods, { namespace: "default", name: "o9" }, { gracePeriodSeconds: 0 });
  });
}
