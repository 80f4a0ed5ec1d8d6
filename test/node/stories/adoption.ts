import { expect, it } from "vitest";

import { type IPPool } from "../../../src/api/pools/ip-pool.ts";
import { encodeFreeMap } from "../../../src/cluster/free-map.ts";
import { configMaps, ipPools, reservations } from "../../../src/cluster/resources.ts";
import { parseBlock } from "../../../src/net/interval.ts";
import { parsePrefix } from "../../../src/net/prefix.ts";
import { given, network, pod } from "../fixture.ts";
import type { GetFixture } from "../suite.ts";

export function adoptionStories(fixture: GetFixture): void {
  /** As whereabouts leaves it: entries with a container id, reservations without. */
  async function filled(
    net: string,
    range: string,
    entries: IPPool["spec"]["allocations"],
    reserved: Record<string, string>,
  ) {
    const name = `${net}-${range.replace("/", "-")}`;
    await fixture().admin.create(ipPools, {
      metadata: { namespace: "kube-system", name },
      spec: { range, allocations: entries },
    });
    for (const [address, podref] of Object.entries(reserved)) {
      const metadata = { namespace: "kube-system", name: `${net}-${address}` };
      await fixture().admin.create(reservations, { metadata, spec: { podref } });
    }
    return network(net, { range, network_name: net });
  }

  it("an entry without a reservation and a reservation without an entry both count as held", async () => {
    const entries = { 1: { id: "w1", podref: "default/old-1", ifname: "net1" } };
    const config = await filled("old", "10.5.0.0/29", entries, { "10.5.0.2": "default/old-2" });
    const daemonFixture = await fixture().daemon();
    expect(await given(daemonFixture, { ...pod("new"), config })).toEqual(["10.5.0.3/29"]);
    expect(await fixture().held("network:old ")).toHaveLength(3);
  });

  it("what whereabouts gave is released by the container id of its entry", async () => {
    const entries = {
      1: { id: "w1", podref: "default/gone-1", ifname: "net1" },
      2: { id: "w2", podref: "default/gone-2" },
      3: { id: "w3", podref: "default/gone-3", ifname: "net1" },
    };
    const config = await filled("gone", "10.5.1.0/29", entries, { "10.5.1.1": "default/gone-1" });
    const daemonFixture = await fixture().daemon();
    for (const [container, name] of [
      ["w1", "gone-1"],
      ["w2", "gone-2"],
      ["stranger", "gone-3"],
    ] as const) {
      const told = await daemonFixture.ask({ command: "DEL", ...pod(name, container), interfaceName: "net1", config });
      expect(told.status).toBe(0);
    }
    expect((await fixture().held("network:gone ")).map((line) => line.split(" ")[0])).toEqual(["10.5.1.3"]);
  });

  it("and while whereabouts is active too, with its reservation; a later sandbox's and another pod's stay", async () => {
    const entries = {
      1: { id: "w1", podref: "default/leaves-1", ifname: "net1" },
      2: { id: "later", podref: "default/leaves-2", ifname: "net1" },
      3: { id: "w3", podref: "default/leaves-3", ifname: "net1" },
    };
    const reserved = { "10.5.4.1": "default/leaves-1", "10.5.4.2": "default/leaves-2", "10.5.4.3": "default/other" };
    const config = await filled("leaves", "10.5.4.0/29", entries, reserved);
    await using _ = await fixture().beside();
    const daemonFixture = await fixture().daemon();
    for (const [name, container] of [
      ["leaves-1", "w1"],
      ["leaves-2", "w2"],
      ["leaves-3", "w3"],
    ] as const) {
      const told = await daemonFixture.ask({ command: "DEL", ...pod(name, container), interfaceName: "net1", config });
      expect(told.status).toBe(0);
    }
    const at = { namespace: "kube-system", name: "leaves-10.5.4.0-29" };
    expect(Object.keys((await fixture().admin.get(ipPools, at)).spec.allocations)).toEqual(["2"]);
    const left = (await fixture().admin.list(reservations, { namespace: "kube-system" })).items;
    expect(left.map(({ metadata }) => metadata.name).filter((name) => name?.startsWith("leaves-"))).toEqual([
      "leaves-10.5.4.2",
      "leaves-10.5.4.3",
    ]);
  });

  it("a pod that had its address from whereabouts keeps it in its next sandbox", async () => {
    const made = await fixture().pod("default", fixture().fresh("kept"), {
      annotations: { "k8s.v1.cni.cncf.io/network-status": "[]" },
    });
    const { name, uid } = made.metadata;
    const entries = { 4: { id: "w9", podref: `default/${name}`, ifname: "net1" } };
    const config = await filled("kept", "10.5.2.0/29", entries, { "10.5.2.4": `default/${name}` });
    const daemonFixture = await fixture().daemon();
    const args = `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name};K8S_POD_UID=${uid}`;
    expect(await given(daemonFixture, { args, container: "next", interfaceName: "net1", config })).toEqual([
      "10.5.2.4/29",
    ]);
    expect(await fixture().held("network:kept ")).toEqual([`10.5.2.4 default/${name} net1 next`]);
    await daemonFixture.ask({ command: "DEL", args, container: "w9", interfaceName: "net1", config });
    expect(await fixture().held("network:kept ")).toHaveLength(1);
  });

  it("the leader's free map of a pool is no word that it was adopted", async () => {
    const config = await filled("mapped", "10.5.3.0/29", { 1: { id: "w1", podref: "default/old" } }, {});
    const map = {
      pool: "kube-system/mapped-10.5.3.0-29",
      prefix: parsePrefix("10.5.3.0/29"),
      taken: [parseBlock("10.5.3.1")],
      writtenMs: Date.now(),
      holders: 0,
    };
    await fixture().admin.create(configMaps, encodeFreeMap("kube-system", map));
    const daemonFixture = await fixture().daemon();
    const asked = {
      ...pod("asks"),
      config: { ...config, capabilities: { ips: true }, args: { cni: { ips: ["10.5.3.1"] } } },
    };
    expect((await daemonFixture.ask({ command: "ADD", ...asked })).json).toMatchObject({ code: 101 });
    expect(await fixture().held("network:mapped ")).toEqual(["10.5.3.1 default/old  w1"]);
  });

  it("while whereabouts is active, the pool has the entry before the answer, and one that it has is not given", async () => {
    const entries = { 1: { id: "w1", podref: "default/theirs", ifname: "net1" } };
    const config = await filled("beside", "10.5.3.0/29", entries, {});
    await using _ = await fixture().beside();
    const daemonFixture = await fixture().daemon();
    expect(await given(daemonFixture, { ...pod("ours"), config })).toEqual(["10.5.3.2/29"]);
    const at = { namespace: "kube-system", name: "beside-10.5.3.0-29" };
    const { spec } = await fixture().admin.get(ipPools, at);
    expect(spec.allocations["2"]).toMatchObject({ id: "c-ours", podref: "default/ours" });
    const patch = { op: "add", path: "/spec/allocations/3", value: { id: "w3", podref: "default/quick" } } as const;
    await fixture().admin.patch(ipPools, at, { type: "json", operations: [patch] });
    const [address] = await given(daemonFixture, { ...pod("ours-too"), config });
    expect(address).toMatch(/^10\.5\.3\.[456]\/29$/);
    await daemonFixture.ask({ command: "DEL", ...pod("ours"), config });
    expect(Object.keys((await fixture().admin.get(ipPools, at)).spec.allocations)).toEqual([
      "1",
      "3",
      address!.slice("10.5.3.".length, -"/29".length),
    ]);
  });
}
