import { expect, it } from "vitest";

import type { GetWorld } from "../suite.ts";
import { given, network, pod } from "../world.ts";

export function staticStories(world: GetWorld): void {
  const ipam = { range: "10.3.0.0/24", range_start: "10.3.0.10", exclude: ["10.3.0.20"], network_name: "static" };
  const config = network("static", ipam);
  const ip = (name: string, address: string) => ({ ...pod(name), args: `${pod(name).args};IP=${address}` });

  it.each([
    ["in the range", "10.3.0.15"],
    ["before its start", "10.3.0.5"],
    ["excluded", "10.3.0.20"],
    ["the network's own first address", "10.3.0.0"],
  ])("an address asked for by number is one address, and held: %s", async (_what, address) => {
    const rig = await world().daemon();
    expect(await given(rig, { ...ip(`s-${address}`, address), config })).toEqual([`${address}/24`]);
    const told = await rig.ask({ command: "ADD", ...ip("rival", address), config });
    expect(told).toMatchObject({ status: 1, json: { code: 101 } });
    expect(told.json.msg).toContain(`default/s-${address}`);
    expect(await world().held("network:static ")).toContain(`${address} default/s-${address} eth0 c-s-${address}`);
    await rig.ask({ command: "DEL", ...pod(`s-${address}`), config });
    expect(await world().held("network:static ")).toEqual([]);
  });

  it("an address in no range is held beside the range's own", async () => {
    const rig = await world().daemon();
    expect(await given(rig, { ...ip("loose", "172.30.0.9/16"), config })).toEqual(["10.3.0.10/24", "172.30.0.9/16"]);
    expect(await rig.ask({ command: "ADD", ...ip("rival", "172.30.0.9/16"), config })).toMatchObject({
      json: { code: 101 },
    });
    await rig.ask({ command: "DEL", ...pod("loose"), config });
    expect(await world().held("network:static ")).toEqual([]);
  });

  it("also while whereabouts is active, which has no entry for such an address", async () => {
    const rig = await world().daemon({ coexistence: "on" });
    const beside = network("beside", { range: "10.3.9.0/24", network_name: "beside" });
    expect(await given(rig, { ...ip("loose", "172.30.0.9/16"), config: beside })).toEqual([
      "10.3.9.1/24",
      "172.30.0.9/16",
    ]);
    await rig.ask({ command: "DEL", ...pod("loose"), config: beside });
    expect(await world().held("network:beside ")).toEqual([]);
  });

  it("what rests is given to who asks for it by number", async () => {
    const rig = await world().daemon();
    const resting = network("static-rest", { range: "10.3.1.0/24", network_name: "static-rest", cooldown: 600 });
    await given(rig, { ...ip("first", "10.3.1.7"), config: resting });
    await rig.ask({ command: "DEL", ...pod("first"), config: resting });
    expect(await given(rig, { ...ip("second", "10.3.1.7"), config: resting })).toEqual(["10.3.1.7/24"]);
  });

  it("the gateway's address is nobody's", async () => {
    const rig = await world().daemon();
    const gated = network("gated", { range: "10.3.2.0/24", gateway: "10.3.2.1", network_name: "gated" });
    const told = await rig.ask({ command: "ADD", ...ip("g", "10.3.2.1"), config: gated });
    expect(told).toMatchObject({ status: 1, json: { code: 101 } });
    expect(await given(rig, { ...pod("h"), config: gated })).toEqual(["10.3.2.2/24"]);
  });

  it("the pod's network selection asks by number, and its annotation by preference", async () => {
    const rig = await world().daemon();
    const selects = JSON.stringify([{ name: "sel", ips: ["10.3.3.44/24"] }]);
    const one = await world().pod("default", world().fresh("selects"), {
      annotations: { "k8s.v1.cni.cncf.io/networks": selects },
    });
    const two = await world().pod("default", world().fresh("prefers"), {
      annotations: { "whereabouts.cni.cncf.io/preferred-ip": "10.3.3.55" },
    });
    const three = await world().pod("default", world().fresh("prefers"), {
      annotations: { "whereabouts.cni.cncf.io/preferred-ip": "10.3.3.55" },
    });
    const sel = network("sel", { range: "10.3.3.0/24", network_name: "sel" });
    const of = (made: typeof one) => ({
      container: `c-${made.metadata.name}`,
      interfaceName: "net1",
      args: `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${made.metadata.name}`,
      config: sel,
    });
    expect(await given(rig, of(one))).toEqual(["10.3.3.44/24"]);
    expect(await given(rig, of(two))).toEqual(["10.3.3.55/24"]);
    expect(await given(rig, of(three))).toEqual(["10.3.3.1/24"]);
  });
}
