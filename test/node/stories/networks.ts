import { expect, it } from "vitest";

import type { GetWorld } from "../suite.ts";
import { given, network, pod } from "../world.ts";

export function networkStories(world: GetWorld): void {
  const range = "10.4.0.0/24";

  it("the same range in two named networks: the same address twice, once in each", async () => {
    const rig = await world().daemon();
    for (const name of ["red", "green"]) {
      const config = network(name, { range, network_name: name });
      expect(await given(rig, { ...pod(`n-${name}`), config })).toEqual(["10.4.0.1/24"]);
      expect(await world().held(`network:${name} `)).toEqual([`10.4.0.1 default/n-${name} eth0 c-n-${name}`]);
    }
  });

  it("overlapping ranges of one network never give one address twice; where that is switched off, each pool does", async () => {
    const rig = await world().daemon();
    const wide = { range: "10.4.8.0/23", network_name: "lap" };
    const narrow = { range: "10.4.8.0/24", network_name: "lap" };
    const first = await given(rig, { ...pod("l1"), config: network("lap", wide) });
    const second = await given(rig, { ...pod("l2"), config: network("lap", narrow) });
    expect([first, second]).toEqual([["10.4.8.1/23"], ["10.4.8.2/24"]]);
    const apart = { enable_overlapping_ranges: false };
    const third = await given(rig, { ...pod("l3"), config: network("lap", { ...wide, ...apart }) });
    const fourth = await given(rig, { ...pod("l4"), config: network("lap", { ...narrow, ...apart }) });
    expect([third, fourth]).toEqual([["10.4.8.1/23"], ["10.4.8.1/24"]]);
    expect(await world().held("pool:kube-system/lap-10.4.8.0-23 ")).toEqual(["10.4.8.1 default/l3 eth0 c-l3"]);
    for (const name of ["l1", "l2", "l3", "l4"]) await rig.ask({ command: "DEL", ...pod(name), config: "" });
    expect(await world().held("lap")).toEqual([]);
  });

  const select = (namespace: string, networks: string) =>
    world().pod(namespace, world().fresh("tenant"), { annotations: { "k8s.v1.cni.cncf.io/networks": networks } });
  const attach = (made: Awaited<ReturnType<typeof select>>, config: object) => ({
    container: `c-${made.metadata.name}`,
    interfaceName: "net1",
    args: `K8S_POD_NAMESPACE=${made.metadata.namespace};K8S_POD_NAME=${made.metadata.name}`,
    config,
  });

  it("pools in the definition's namespace: two tenants, one network name, one range, the same address", async () => {
    const rig = await world().daemon();
    const config = network("shared", { range, network_name: "shared", pool_namespace: "nad" });
    for (const tenant of [await world().namespace("tenant-a"), await world().namespace("tenant-b")]) {
      expect(await given(rig, attach(await select(tenant, "shared"), config))).toEqual(["10.4.0.1/24"]);
      expect(await world().held(`${tenant} network:shared `)).toHaveLength(1);
    }
    const other = await select("tenant-a", "tenant-b/shared");
    expect(await given(rig, attach(other, config))).toEqual(["10.4.0.2/24"]);
    expect(await world().held("tenant-b network:shared ")).toHaveLength(2);
    const lost = await rig.ask({ command: "ADD", ...attach(await select("tenant-a", "x@net7"), config) });
    expect(lost).toMatchObject({ status: 1, json: { code: 7 } });
    expect(lost.json.msg).toContain("net1");
  });

  it.each([
    ["its own namespace", "iso", true],
    ["a global namespace", "default", true],
    ["another's namespace", "kube-public", false],
  ])("with isolation, a pod may use a network of %s: as Multus", async (_what, namespace, isAllowed) => {
    const rig = await world().daemon({ isolation: { isolated: true, globalNamespaces: ["default"] } });
    await world()
      .namespace("iso")
      .catch(() => {});
    const config = network("iso", { range: "10.4.20.0/24", network_name: "iso" });
    const told = await rig.ask({ command: "ADD", ...attach(await select("iso", `${namespace}/some`), config) });
    if (isAllowed) expect(told.status).toBe(0);
    else
      expect(told).toMatchObject({
        status: 1,
        json: { code: 101, msg: expect.stringContaining("--global-namespaces") },
      });
  });
}
