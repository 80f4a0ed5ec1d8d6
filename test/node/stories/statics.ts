import { expect, it } from "vitest";

import { reservations } from "../../../src/cluster/resources.ts";
import { given, network, pod } from "../fixture.ts";
import { podArgs } from "../shim.ts";
import type { GetFixture } from "../suite.ts";

/** The definition lets its pods ask. */
const asks = { capabilities: { ips: true } };
const ip = (name: string, address: string) => ({ ...pod(name), args: `${pod(name).args};IP=${address}` });

export function staticStories(fixture: GetFixture): void {
  const ipam = {
    range: "10.3.0.0/24",
    range_start: "10.3.0.10",
    range_end: "10.3.0.200",
    exclude: ["10.3.0.20"],
    gateway: "10.3.0.11",
    network_name: "static",
  };
  const config = network("static", ipam, asks);

  it("an address asked for by number is one address, and held", async () => {
    const daemonFixture = await fixture().daemon();
    expect(await given(daemonFixture, { ...ip("s", "10.3.0.15"), config })).toEqual(["10.3.0.15/24"]);
    const told = await daemonFixture.ask({ command: "ADD", ...ip("rival", "10.3.0.15"), config });
    expect(told).toMatchObject({ status: 1, json: { code: 101 } });
    expect(told.json.msg).toContain("default/s");
    expect(await fixture().held("network:static ")).toEqual(["10.3.0.15 default/s eth0 c-s"]);
    await daemonFixture.ask({ command: "DEL", ...pod("s"), config });
    expect(await fixture().held("network:static ")).toEqual([]);
  });

  it.each([
    ["another network's", "10.111.0.7/24", "in no range of the network static"],
    ["before the start", "10.3.0.5", "from 10.3.0.10 to 10.3.0.200"],
    ["excluded", "10.3.0.20", "excludes it"],
    ["the network address", "10.3.0.0", "from 10.3.0.10 to 10.3.0.200"],
    ["the broadcast address", "10.3.0.255", "from 10.3.0.10 to 10.3.0.200"],
    ["the gateway's", "10.3.0.11", "is the gateway"],
  ])("what the network does not hand out is not given on request either: %s", async (what, address, reason) => {
    const daemonFixture = await fixture().daemon();
    const name = fixture().fresh("asks");
    const networks = JSON.stringify([{ name: "static", interface: "eth0", ips: [address] }]);
    const { metadata } = await fixture().pod("default", name, {
      annotations: { "k8s.v1.cni.cncf.io/networks": networks },
    });
    const args = podArgs("default", name, metadata.uid);
    const ways = [
      { args, config },
      { args: podArgs("default", "elsewhere"), config: { ...config, runtimeConfig: { ips: [address] } } },
      { args: podArgs("default", "elsewhere"), config: { ...config, args: { cni: { ips: [address] } } } },
      { args: `${podArgs("default", "elsewhere")};IP=${address}`, config },
    ];
    for (const [index, way] of ways.entries()) {
      const told = await daemonFixture.ask({ command: "ADD", container: `${name}-${index}`, ...way });
      expect([what, told.status, told.json.code]).toEqual([what, 1, 101]);
      expect(told.json.msg).toContain(reason);
    }
    await expect.poll(() => fixture().eventsOf(name)).toEqual([expect.stringContaining(reason)]);
    expect(await fixture().held("network:static ")).toEqual([]);
  });

  it("one pod's annotation takes nothing of another network, nor more than a few of its own", async () => {
    const daemonFixture = await fixture().daemon();
    const victim = network("victim", { range: "10.3.4.0/24", network_name: "both" });
    const mine = network("mine", { range: "10.3.5.0/24", network_name: "both" }, asks);
    const greedy = async (ips: readonly string[]) => {
      const name = fixture().fresh("greedy");
      const annotations = {
        "k8s.v1.cni.cncf.io/networks": JSON.stringify([{ name: "mine", interface: "eth0", ips }]),
      };
      const { metadata } = await fixture().pod("default", name, { annotations });
      return daemonFixture.ask({
        command: "ADD",
        container: name,
        args: podArgs("default", name, metadata.uid),
        config: mine,
      });
    };
    const all = (third: number) => Array.from({ length: 255 }, (_, last) => `10.3.${third}.${last + 1}/32`);
    expect(await greedy(all(4))).toMatchObject({ status: 1 });
    expect(await greedy(all(4).slice(0, 16))).toMatchObject({ status: 1, json: { code: 101 } });
    expect(await greedy(all(5))).toMatchObject({ status: 1 });
    expect(await fixture().held("network:both ")).toEqual([]);
    expect(await given(daemonFixture, { ...pod("innocent"), config: victim })).toEqual(["10.3.4.1/24"]);
  });

  it("without the definition's consent a request is refused, in words that name the key and both remedies", async () => {
    const daemonFixture = await fixture().daemon();
    const silent = network("silent", { range: "10.3.6.0/24", network_name: "silent" });
    const told = await daemonFixture.ask({ command: "ADD", ...ip("s", "10.3.6.7/24"), config: silent });
    expect(told).toMatchObject({ status: 1, json: { code: 101 } });
    for (const part of ["CNI_ARGS IP", "the network silent", '"capabilities": {"ips": true}', "allow_requested_ips"]) {
      expect(told.json.msg).toContain(part);
    }
    const allows = network("silent", { range: "10.3.6.0/24", network_name: "silent", allow_requested_ips: true });
    expect(await given(daemonFixture, { ...ip("s", "10.3.6.7/24"), config: allows })).toEqual(["10.3.6.7/24"]);
  });

  it("a CHECK passes by the ledger where the network lets its pods choose no more", async () => {
    const daemonFixture = await fixture().daemon();
    const ranged = { range: "10.3.7.0/24", network_name: "withdrawn" };
    const asked = ip("chosen", "10.3.7.9/24");
    const { json: prevResult } = await daemonFixture.ask({
      command: "ADD",
      ...asked,
      config: network("withdrawn", ranged, asks),
    });
    const now = network("withdrawn", { ...ranged, range_start: "10.3.7.100" });
    const check = () => daemonFixture.ask({ command: "CHECK", ...asked, config: { ...now, prevResult } });
    expect(await check()).toMatchObject({ status: 0 });
    expect(await daemonFixture.ask({ command: "ADD", ...ip("late", "10.3.7.10/24"), config: now })).toMatchObject({
      status: 1,
    });
    await fixture().admin.delete(reservations, { namespace: "kube-system", name: "withdrawn-10.3.7.9" });
    expect(await check()).toMatchObject({ status: 1, json: { code: 100 } });
  });

  it("what the definition lists in no range is held beside the range's own, also while whereabouts is active", async () => {
    const listed = { ...ipam, network_name: "listed", addresses: [{ address: "172.30.0.9/16" }] };
    const daemonFixture = await fixture().daemon();
    const beside = network("listed", listed);
    expect(await given(daemonFixture, { ...pod("loose"), config: beside })).toEqual(["10.3.0.10/24", "172.30.0.9/16"]);
    expect(await daemonFixture.ask({ command: "ADD", ...pod("rival"), config: beside })).toMatchObject({
      json: { code: 101 },
    });
    await daemonFixture.ask({ command: "DEL", ...pod("loose"), config: beside });
    expect(await fixture().held("network:listed ")).toEqual([]);
    await using _ = await fixture().beside();
    const careful = await fixture().daemon();
    expect(await given(careful, { ...pod("loose"), config: beside })).toEqual(["10.3.0.10/24", "172.30.0.9/16"]);
    await careful.ask({ command: "DEL", ...pod("loose"), config: beside });
    expect(await fixture().held("network:listed ")).toEqual([]);
  });

  it("what rests is given to who asks for it by number", async () => {
    const daemonFixture = await fixture().daemon();
    const resting = network("static-rest", { range: "10.3.1.0/24", network_name: "static-rest", cooldown: 600 }, asks);
    await given(daemonFixture, { ...ip("first", "10.3.1.7"), config: resting });
    await daemonFixture.ask({ command: "DEL", ...pod("first"), config: resting });
    expect(await given(daemonFixture, { ...ip("second", "10.3.1.7"), config: resting })).toEqual(["10.3.1.7/24"]);
  });

  it("the pod's network selection asks by number, and its annotation by preference", async () => {
    const daemonFixture = await fixture().daemon();
    const selects = JSON.stringify([{ name: "sel", ips: ["10.3.3.44/24"] }]);
    const one = await fixture().pod("default", fixture().fresh("selects"), {
      annotations: { "k8s.v1.cni.cncf.io/networks": selects },
    });
    const two = await fixture().pod("default", fixture().fresh("prefers"), {
      annotations: { "whereabouts.cni.cncf.io/preferred-ip": "10.3.3.55" },
    });
    const three = await fixture().pod("default", fixture().fresh("prefers"), {
      annotations: { "whereabouts.cni.cncf.io/preferred-ip": "10.3.3.55" },
    });
    const sel = network("sel", { range: "10.3.3.0/24", network_name: "sel" }, asks);
    const of = (made: typeof one) => ({
      container: `c-${made.metadata.name}`,
      interfaceName: "net1",
      args: `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${made.metadata.name}`,
      config: sel,
    });
    expect(await given(daemonFixture, of(one))).toEqual(["10.3.3.44/24"]);
    expect(await given(daemonFixture, of(two))).toEqual(["10.3.3.55/24"]);
    expect(await given(daemonFixture, of(three))).toEqual(["10.3.3.1/24"]);
  });
}
