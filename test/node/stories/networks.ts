import { expect, it } from "vitest";

import { ipPools } from "../../../src/cluster/resources.ts";
import { given, network, pod } from "../fixture.ts";
import { podArgs } from "../shim.ts";
import type { GetFixture } from "../suite.ts";

export function networkStories(fixture: GetFixture): void {
  const range = "10.4.0.0/24";

  it("the same range in two named networks: the same address twice, once in each", async () => {
    const daemonFixture = await fixture().daemon();
    for (const name of ["red", "green"]) {
      const config = network(name, { range, network_name: name });
      expect(await given(daemonFixture, { ...pod(`n-${name}`), config })).toEqual(["10.4.0.1/24"]);
      expect(await fixture().held(`network:${name} `)).toEqual([`10.4.0.1 default/n-${name} eth0 c-n-${name}`]);
    }
  });

  it("overlapping ranges of one network never give one address twice; where that is switched off, each pool does", async () => {
    const daemonFixture = await fixture().daemon();
    const wide = { range: "10.4.8.0/23", network_name: "lap" };
    const narrow = { range: "10.4.8.0/24", network_name: "lap" };
    const first = await given(daemonFixture, { ...pod("l1"), config: network("lap", wide) });
    const second = await given(daemonFixture, { ...pod("l2"), config: network("lap", narrow) });
    expect([first, second]).toEqual([["10.4.8.1/23"], ["10.4.8.2/24"]]);
    const apart = { network_name: "lapart", enable_overlapping_ranges: false };
    const third = await given(daemonFixture, { ...pod("l3"), config: network("lapart", { ...wide, ...apart }) });
    const fourth = await given(daemonFixture, { ...pod("l4"), config: network("lapart", { ...narrow, ...apart }) });
    expect([third, fourth]).toEqual([["10.4.8.1/23"], ["10.4.8.1/24"]]);
    expect(await fixture().held("pool:kube-system/lapart-10.4.8.0-23 ")).toEqual(["10.4.8.1 default/l3 eth0 c-l3"]);
    for (const name of ["l1", "l2", "l3", "l4"]) await daemonFixture.ask({ command: "DEL", ...pod(name), config: "" });
    expect(await fixture().held("lap")).toEqual([]);
  });

  /** Two networks on one pool that say different things of overlaps. */
  const mixed = (name: string) => ({
    whole: network(name, { range: "10.4.9.0/24", network_name: name }),
    apart: network(name, { range: "10.4.9.0/24", network_name: name, enable_overlapping_ranges: false }),
  });

  it("a pool that was first used with overlaps protected is so for all: one address is never given twice", async () => {
    const { whole, apart } = mixed("mixed-a");
    const daemonFixture = await fixture().daemon();
    const other = await fixture().daemon({ node: "mixed-2" });
    expect(await given(daemonFixture, { ...pod("a1"), config: whole })).toEqual(["10.4.9.1/24"]);
    expect(await given(daemonFixture, { ...pod("a2"), config: apart })).toEqual(["10.4.9.2/24"]);
    expect(await given(other, { ...pod("a3"), config: apart })).toEqual(["10.4.9.3/24"]);
    expect(await fixture().held("network:mixed-a ")).toHaveLength(3);
    expect(await fixture().held("pool:kube-system/mixed-a")).toEqual([]);
  });

  it("one that was first used without refuses those who ask for more, in words", async () => {
    const { whole, apart } = mixed("mixed-b");
    const daemonFixture = await fixture().daemon();
    const other = await fixture().daemon({ node: "mixed-2" });
    expect(await given(daemonFixture, { ...pod("b1"), config: apart })).toEqual(["10.4.9.1/24"]);
    for (const daemon of [daemonFixture, other]) {
      const told = await daemon.ask({ command: "ADD", ...pod("b2"), config: whole });
      expect(told).toMatchObject({ status: 1, json: { code: 7 } });
      expect(told.json.msg).toContain("enable_overlapping_ranges: false");
      expect(told.json.msg).toContain("enable_overlapping_ranges: true");
      expect(told.json.msg).toContain("network_name");
    }
    expect(await given(other, { ...pod("b3"), config: apart })).toEqual(["10.4.9.2/24"]);
    expect((await daemonFixture.ask({ command: "DEL", ...pod("b2"), config: whole })).status).toBe(0);
  });

  it("both at once on a pool that whereabouts left: one of them decides, and all addresses are different", async () => {
    const { whole, apart } = mixed("mixed-c");
    await fixture().admin.create(ipPools, {
      metadata: { namespace: "kube-system", name: "mixed-c-10.4.9.0-24" },
      spec: { range: "10.4.9.0/24", allocations: { 1: { id: "w", podref: "default/w", ifname: "net1" } } },
    });
    const daemonFixtures = await Promise.all([1, 2, 3, 4].map((n) => fixture().daemon({ node: `mixed-${n}` })));
    const told = await Promise.all(
      daemonFixtures.map((daemonFixture, n) =>
        daemonFixture.ask({ command: "ADD", ...pod(`m${n}`), config: n % 2 === 0 ? whole : apart }),
      ),
    );
    const good = told.filter(({ status }) => status === 0).map(({ json }) => json.ips[0].address as string);
    expect(good.length).toBeGreaterThanOrEqual(2);
    expect(new Set(good).size).toBe(good.length);
    expect(good).not.toContain("10.4.9.1/24");
    expect(told.every(({ status, json }) => status === 0 || json.code === 7)).toBe(true);
  });

  it("a pool that was adopted before pools said their domain is adopted again: what it shows is held", async () => {
    const { whole } = mixed("mixed-d");
    const at = { namespace: "kube-system", name: "mixed-d-10.4.9.0-24" };
    await fixture().admin.create(ipPools, {
      metadata: { ...at, annotations: { "holdfast.io/adopted": "2026-01-01T00:00:00Z" } },
      spec: {
        range: "10.4.9.0/24",
        allocations: { 1: { id: "c", podref: "default/apart", ifname: "eth0", uid: "u-apart" } },
      },
    });
    const daemonFixture = await fixture().daemon();
    expect(await given(daemonFixture, { ...pod("d1"), config: whole })).toEqual(["10.4.9.2/24"]);
    const { metadata } = await fixture().admin.get(ipPools, at);
    expect(metadata.annotations).toMatchObject({ "holdfast.io/domain": "network:mixed-d" });
  });

  const select = (namespace: string, networks: string) =>
    fixture().pod(namespace, fixture().fresh("tenant"), { annotations: { "k8s.v1.cni.cncf.io/networks": networks } });
  const attach = (made: Awaited<ReturnType<typeof select>>, config: object) => ({
    container: `c-${made.metadata.name}`,
    interfaceName: "net1",
    args: `K8S_POD_NAMESPACE=${made.metadata.namespace};K8S_POD_NAME=${made.metadata.name}`,
    config,
  });

  it("a tenant's definition does not make a pool of all one of its own; where it is on record so, it goes along", async () => {
    const daemonFixture = await fixture().daemon();
    const tenant = await fixture().namespace(fixture().fresh("tenant"));
    const { whole, apart } = mixed("mixed-t");
    const first = await select(tenant, "apart");
    expect(await given(daemonFixture, attach(first, apart))).toEqual(["10.4.9.1/24"]);
    expect(await fixture().held("network:mixed-t ")).toHaveLength(1);
    const words = expect.stringMatching(/^SettingIgnored: net1: enable_overlapping_ranges.*--trusted-namespaces/);
    await expect
      .poll(() => fixture().eventsOf(first.metadata.name!, tenant), { timeout: 20_000 })
      .toContainEqual(words);
    expect(await given(daemonFixture, attach(await select("default", "whole"), whole))).toEqual(["10.4.9.2/24"]);
    expect(await fixture().held("network:mixed-t ")).toHaveLength(2);
    // An administrator's word, and a pool of the tenant's own.
    const { apart: theirs } = mixed("mixed-u");
    expect(await given(daemonFixture, attach(await select("default", "theirs"), theirs))).toEqual(["10.4.9.1/24"]);
    expect(await given(daemonFixture, attach(await select(tenant, "apart"), theirs))).toEqual(["10.4.9.2/24"]);
    expect(await fixture().held("pool:kube-system/mixed-u-10.4.9.0-24 ")).toHaveLength(2);
    const ipam = { range: "10.4.9.0/24", network_name: "mixed-v", enable_overlapping_ranges: false };
    const own = network("mixed-v", { ...ipam, pool_namespace: "nad" });
    expect(await given(daemonFixture, attach(await select(tenant, "own"), own))).toEqual(["10.4.9.1/24"]);
    expect(await fixture().held(`pool:${tenant}/mixed-v-10.4.9.0-24 `)).toHaveLength(1);
  });

  it("who is named with --trusted-namespaces decides as an administrator does", async () => {
    const tenant = await fixture().namespace(fixture().fresh("tenant"));
    const daemonFixture = await fixture().daemon({ trustedNamespaces: [tenant] });
    const { apart } = mixed("mixed-w");
    await given(daemonFixture, attach(await select("default", "apart"), mixed("mixed-x").apart));
    expect(await fixture().held("network:mixed-x ")).toHaveLength(1);
    await given(daemonFixture, attach(await select(tenant, "apart"), apart));
    expect(await fixture().held("pool:kube-system/mixed-w-10.4.9.0-24 ")).toHaveLength(1);
  });

  it("pools in the definition's namespace: two tenants, one network name, one range, the same address", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("shared", { range, network_name: "shared", pool_namespace: "nad" });
    for (const tenant of [await fixture().namespace("tenant-a"), await fixture().namespace("tenant-b")]) {
      expect(await given(daemonFixture, attach(await select(tenant, "shared"), config))).toEqual(["10.4.0.1/24"]);
      expect(await fixture().held(`${tenant} network:shared `)).toHaveLength(1);
    }
    const other = await select("tenant-a", "tenant-b/shared");
    expect(await given(daemonFixture, attach(other, config))).toEqual(["10.4.0.2/24"]);
    expect(await fixture().held("tenant-b network:shared ")).toHaveLength(2);
  });

  it("where no definition is behind the interface, its pools are where all others are", async () => {
    const daemonFixture = await fixture().daemon();
    const tenant = await fixture().namespace(fixture().fresh("tenant"));
    const config = network("fallen", { range, network_name: "fallen", pool_namespace: "nad" });
    expect(await given(daemonFixture, attach(await select(tenant, "x@net7"), config))).toEqual(["10.4.0.1/24"]);
    const podman = { container: "c-podman", interfaceName: "eth0", args: "K8S_POD_NAME=db", config };
    expect(await given(daemonFixture, podman)).toEqual(["10.4.0.2/24"]);
    expect(await fixture().held("kube-system network:fallen ")).toHaveLength(2);
    const unknown = { container: "c-unknown", args: podArgs(tenant, "nobody", "u"), config };
    const told = await daemonFixture.ask({ command: "ADD", ...unknown });
    expect(told).toMatchObject({ status: 1, json: { code: 11, msg: expect.stringContaining(`${tenant}/nobody`) } });
  });

  it.each([
    ["whereabouts", "scheme-10.4.30.0-24"],
    ["slices", "scheme-10.4.30.0-24"],
    ["network", "scheme"],
  ])("pool_naming %s: addresses of the pool %s", async (naming, name) => {
    const daemonFixture = await fixture().daemon();
    const namespace = await fixture().namespace(fixture().fresh("naming"));
    const ipam = { range: "10.4.30.0/24", network_name: "scheme", pool_naming: naming, pool_namespace: "nad" };
    const config = network("scheme", ipam);
    const first = attach(await select(namespace, "scheme"), config);
    expect(await given(daemonFixture, first)).toEqual(["10.4.30.1/24"]);
    expect(await given(daemonFixture, attach(await select(namespace, "scheme"), config))).toEqual(["10.4.30.2/24"]);
    const { items } = await fixture().admin.list(ipPools, { namespace });
    expect(items.map(({ metadata, spec }) => [metadata.name, spec.range])).toEqual([[name, "10.4.30.0/24"]]);
    const later = await fixture().daemon();
    expect(await given(later, attach(await select(namespace, "scheme"), config))).toEqual(["10.4.30.3/24"]);
    await later.ask({ command: "DEL", ...first });
    expect(await fixture().held(`${namespace} network:scheme `)).toHaveLength(2);
    // A pool of one scheme is found by the others: nobody hands out beside it.
    const other = network("scheme", { ...ipam, pool_naming: naming === "network" ? "whereabouts" : "network" });
    expect(await given(later, attach(await select(namespace, "scheme"), other))).toEqual(["10.4.30.1/24"]);
    expect((await fixture().admin.list(ipPools, { namespace })).items).toHaveLength(1);
  });

  it("a name that two ranges would share is refused, in words, and the first keeps it", async () => {
    const daemonFixture = await fixture().daemon();
    const ipam = { network_name: "narrow", pool_naming: "network" };
    expect(
      await given(daemonFixture, { ...pod("n1"), config: network("narrow", { ...ipam, range: "10.4.31.0/24" }) }),
    ).toEqual(["10.4.31.1/24"]);
    const told = await daemonFixture.ask({
      command: "ADD",
      ...pod("n2"),
      config: network("narrow", { ...ipam, range: "10.4.32.0/24" }),
    });
    expect(told).toMatchObject({ status: 1, json: { msg: expect.stringContaining("choose another pool_naming") } });
    expect(await fixture().held("network:narrow ")).toHaveLength(1);
  });

  it("a network called as somebody's range takes neither its pool's name nor its pool", async () => {
    const daemonFixture = await fixture().daemon();
    const tenant = await fixture().namespace(fixture().fresh("tenant"));
    const [ranged, name] = ["10.4.33.0/24", "10.4.33.0-24"];
    const config = network("called", { range: "10.4.34.0/24", network_name: name, pool_naming: "network" });
    const told = await daemonFixture.ask({ command: "ADD", ...attach(await select(tenant, "called"), config) });
    expect(told).toMatchObject({
      status: 1,
      json: { code: 7, msg: expect.stringContaining(`network_name "${name}"`) },
    });
    // Of whereabouts, which no mark says whose it is.
    await fixture().admin.create(ipPools, {
      metadata: { namespace: "kube-system", name },
      spec: { range: ranged, allocations: {} },
    });
    const same = network("called", { range: ranged, network_name: name });
    expect(await given(daemonFixture, attach(await select(tenant, "called"), same))).toEqual(["10.4.33.1/24"]);
    expect(await given(daemonFixture, { ...pod("c1"), config: network("c", { range: ranged }) })).toEqual([
      "10.4.33.1/24",
    ]);
  });

  it.each([
    ["its own namespace", "iso", true],
    ["a global namespace", "default", true],
    ["another's namespace", "kube-public", false],
  ])("with isolation, a pod may use a network of %s: as Multus", async (_what, namespace, isAllowed) => {
    const daemonFixture = await fixture().daemon({ isolation: { isolated: true, globalNamespaces: ["default"] } });
    await fixture()
      .namespace("iso")
      .catch(() => {});
    const config = network("iso", { range: "10.4.20.0/24", network_name: "iso" });
    const told = await daemonFixture.ask({
      command: "ADD",
      ...attach(await select("iso", `${namespace}/some`), config),
    });
    if (isAllowed) expect(told.status).toBe(0);
    else
      expect(told).toMatchObject({
        status: 1,
        json: { code: 101, msg: expect.stringContaining("--global-namespaces") },
      });
  });
}
