import { expect, it } from "vitest";

import { given, network, pod } from "../fixture.ts";
import { podArgs } from "../shim.ts";
import type { GetFixture } from "../suite.ts";

export function attachmentStories(fixture: GetFixture): void {
  it("the same owner gets the same answer, and a new sandbox takes it over; a late DEL of the old one frees nothing", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("again", { range: "10.2.0.0/24", network_name: "again" });
    expect(await given(daemonFixture, { ...pod("a", "c1"), config })).toEqual(["10.2.0.1/24"]);
    expect(await given(daemonFixture, { ...pod("b", "c2"), config })).toEqual(["10.2.0.2/24"]);
    expect(await given(daemonFixture, { ...pod("a", "c1"), config })).toEqual(["10.2.0.1/24"]);
    expect(await given(daemonFixture, { ...pod("a", "c3"), config })).toEqual(["10.2.0.1/24"]);
    expect(await daemonFixture.ask({ command: "DEL", ...pod("a", "c1"), config })).toMatchObject({ status: 0 });
    expect(await fixture().held("network:again ")).toEqual([
      "10.2.0.1 default/a eth0 c3",
      "10.2.0.2 default/b eth0 c2",
    ]);
    await daemonFixture.ask({ command: "DEL", ...pod("a", "c3"), config });
    expect(await fixture().held("network:again ")).toEqual(["10.2.0.2 default/b eth0 c2"]);
  });

  it.each([
    ["an OverlappingRangeIPReservation", {}],
    ["a Hold", { enable_overlapping_ranges: false }],
  ])("a late answer to a DEL of %s erases nothing of the next sandbox", async (_, more) => {
    const { promise: late, resolve: answer } = Promise.withResolvers<void>();
    const { promise: done, resolve: told } = Promise.withResolvers<void>();
    const daemonFixture = await fixture().daemon({
      transport: async (request) => {
        const response = await fixture().transport(request);
        if (request.method === "DELETE" && request.path.includes("10.2.9.1")) {
          told();
          await late;
        }
        return response;
      },
    });
    const name = `${fixture().fresh("late")}-z`;
    const config = network(name, { range: "10.2.9.0/24", network_name: name, ...more });
    expect(await given(daemonFixture, { ...pod("l", "c1"), config })).toEqual(["10.2.9.1/24"]);
    const deleting = daemonFixture.ask({ command: "DEL", ...pod("l", "c1"), config });
    await done;
    const next = await daemonFixture.ask({ command: "ADD", ...pod("l", "c2"), config });
    answer();
    expect(await deleting).toMatchObject({ status: 0 });
    const check = await daemonFixture.ask({
      command: "CHECK",
      ...pod("l", "c2"),
      config: { ...config, prevResult: next.json },
    });
    expect(check).toMatchObject({ status: 0 });
    expect(await fixture().held(name)).toEqual(["10.2.9.1 default/l eth0 c2"]);
    await daemonFixture.ask({ command: "DEL", ...pod("l", "c2"), config });
    expect(await fixture().held(name)).toEqual([]);
  });

  it("an ADD of a pod that the daemon has seen is one write and no read, and so is its DEL", async () => {
    const daemonFixture = await fixture().daemon();
    const namespace = await fixture().namespace(fixture().fresh("happy"));
    const { metadata } = await fixture().pod(namespace, "one");
    const config = network("happy", { range: "10.2.1.0/24", network_name: "happy" });
    const args = podArgs(namespace, "one", metadata.uid);
    const round = async () => {
      daemonFixture.calls.length = 0;
      await given(daemonFixture, { args, container: "c-one", config });
      await daemonFixture.ask({ command: "DEL", args, container: "c-one", config });
      return [...daemonFixture.calls];
    };
    // The first rounds find the pool, read the namespace's limit, and may be ahead of the watch on pods.
    await expect.poll(round, { timeout: 10_000 }).toEqual(["POST 201", "DELETE 200"]);
  });

  it("dual stack: one address of each range, in order; both go with one DEL, which needs no configuration", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("dual", {
      ipRanges: [{ range: "10.2.2.0/24" }, { range: "fd02:2::/64" }],
      network_name: "dual",
    });
    expect(await given(daemonFixture, { ...pod("d"), config })).toEqual(["10.2.2.1/24", "fd02:2::1/64"]);
    expect(await daemonFixture.ask({ command: "DEL", ...pod("d"), config: "not even JSON" })).toMatchObject({
      status: 0,
    });
    expect(await fixture().held("network:dual ")).toEqual([]);
  });

  it("all ranges or none: what was taken beside an exhausted range is given back, what was held before stays", async () => {
    const daemonFixture = await fixture().daemon();
    const small = { range: "10.2.3.0/30", network_name: "all" };
    const wide = { range: "10.2.4.0/24" };
    for (const name of ["x", "y"]) await given(daemonFixture, { ...pod(name), config: network("all", small) });
    const both = network("all", { ...small, ipRanges: [wide] });
    const told = await daemonFixture.ask({ command: "ADD", ...pod("z"), config: both });
    expect(told).toMatchObject({ status: 1, json: { code: 101 } });
    expect(told.json.msg).toContain("10.2.3.0/30");
    expect(await fixture().held("network:all ")).toHaveLength(2);
    await given(daemonFixture, { ...pod("w"), config: network("all", { ipRanges: [wide], network_name: "all" }) });
    const partly = await daemonFixture.ask({ command: "ADD", ...pod("w"), config: both });
    expect(partly).toMatchObject({ status: 1, json: { code: 101 } });
    expect(await fixture().held("network:all ")).toContain("10.2.4.1 default/w eth0 c-w");
    await daemonFixture.ask({ command: "DEL", ...pod("x"), config: both });
    expect(await given(daemonFixture, { ...pod("z"), config: both })).toEqual(["10.2.3.1/30", "10.2.4.2/24"]);
  });

  it("ranges that overlap give one interface two different addresses, and the same two again", async () => {
    const daemonFixture = await fixture().daemon();
    const ipRanges = [
      { range: "10.2.5.0/24" },
      { range: "10.2.5.0/25" },
      { range: "10.2.5.0/24", exclude: ["10.2.5.0/25"] },
    ];
    const config = network("overlap", { ipRanges, network_name: "overlap" });
    const first = await given(daemonFixture, { ...pod("o"), config });
    expect(new Set(first.map((each) => each.split("/")[0])).size).toBe(3);
    expect(first[2]).toBe("10.2.5.128/24");
    expect(await given(daemonFixture, { ...pod("o", "later"), config })).toEqual(first);
    await daemonFixture.ask({ command: "DEL", ...pod("o", "later"), config });
    expect(await fixture().held("network:overlap ")).toEqual([]);
  });

  it("two interfaces of one pod have an address each, and each goes by itself", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("two", { range: "10.2.6.0/24", network_name: "two" });
    await given(daemonFixture, { ...pod("p"), interfaceName: "net1", config });
    await given(daemonFixture, { ...pod("p"), interfaceName: "net2", config });
    await daemonFixture.ask({ command: "DEL", ...pod("p"), interfaceName: "net1", config });
    expect(await fixture().held("network:two ")).toEqual(["10.2.6.2 default/p net2 c-p"]);
  });

  it("an address rests after its release, its owner may come back at once, and it is given early when nothing else is left", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("rest", { range: "10.2.7.0/30", network_name: "rest", cooldown: 600 });
    await given(daemonFixture, { ...pod("r1"), config });
    await daemonFixture.ask({ command: "DEL", ...pod("r1"), config });
    expect(await given(daemonFixture, { ...pod("r2"), config })).toEqual(["10.2.7.2/30"]);
    expect(await given(daemonFixture, { ...pod("r1", "again"), config })).toEqual(["10.2.7.1/30"]);
    await daemonFixture.ask({ command: "DEL", ...pod("r1", "again"), config });
    expect(await given(daemonFixture, { ...pod("r3"), config })).toEqual(["10.2.7.1/30"]);
    expect(await daemonFixture.ask({ command: "ADD", ...pod("r4"), config })).toMatchObject({
      status: 1,
      json: { code: 101 },
    });
  });

  it("a daemon that starts anew knows what its node holds", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("restart", { range: "10.2.8.0/24", network_name: "restart" });
    await given(daemonFixture, { ...pod("k1"), config });
    await given(daemonFixture, { ...pod("k2"), config });
    await daemonFixture.stop();
    await daemonFixture.start();
    expect(await given(daemonFixture, { ...pod("k2", "new"), config })).toEqual(["10.2.8.2/24"]);
    expect(await daemonFixture.ask({ command: "DEL", ...pod("k1"), config: "" })).toMatchObject({ status: 0 });
    expect(await fixture().held("network:restart ")).toEqual(["10.2.8.2 default/k2 eth0 new"]);
  });

  it("a UID that the runtime does not tell is found with the pod", async () => {
    const daemonFixture = await fixture().daemon();
    const made = await fixture().pod("default", fixture().fresh("uid-less"));
    const config = network("uid", { range: "10.2.9.0/24", network_name: "uid" });
    const { name, uid } = made.metadata;
    const args = `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name!}`;
    const told = await daemonFixture.ask({ command: "ADD", container: "c", args, config });
    const again = await daemonFixture.ask({
      command: "ADD",
      container: "c",
      args: `${args};K8S_POD_UID=${uid!}`,
      config,
    });
    expect([told.status, again.json]).toEqual([0, told.json]);
  });
}
