// Which address a claim gets: ranges, numbers that were asked for, what its status says, quotas.
import { expect, it } from "vitest";

import { requestedAnnotation } from "../../../src/api/claims/claim-marks.ts";
import { ipamClaims, namespaces, pods } from "../../../src/cluster/resources.ts";
import type { KubeObject } from "../../../src/kube/meta.ts";
import { until } from "../../lab/wait.ts";
import { podArgs } from "../../node/shim.ts";
import { conditionOf, namespace, persistent } from "./fixture.ts";
import type { LauncherOptions } from "./objects.ts";
import type { GetClaimFixture } from "./suite.ts";

export function addressStories(fixture: GetClaimFixture): void {
  const scene = async (prefix: string, metadata: Partial<KubeObject["metadata"]> = {}) => {
    const net = fixture().fresh(prefix);
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", net, metadata);
    const launch = (options: LauncherOptions = {}, node = "node1") => fixture().launcher(machine, node, options);
    return { net, claim: `${net}.blue`, launch, config: (ipam: object) => persistent(net, ipam) };
  };
  const withStatus = (name: string, ips: readonly string[]) =>
    fixture().admin.patch(
      ipamClaims,
      { namespace, name },
      { type: "merge", body: { status: { ips } } },
      { subresource: "status" },
    );
  const addresses = (net: string) =>
    fixture()
      .held(net)
      .then((holds) => holds.map(({ address }) => String(address)));

  it("two families: one address of each, all in the status, and the same at the next start", async () => {
    const { net, claim, launch, config } = await scene("dual");
    const both = config({ ipRanges: [{ range: "10.64.0.0/24" }, { range: "fd00:64::/64" }] });
    const first = await fixture().add(await launch(), both);
    expect(first.map((each) => each.split("/")[1])).toEqual(["24", "64"]);
    await fixture().settled(claim, ({ status }) => status?.ips.length === 2);
    expect((await fixture().read(claim)).status?.ips).toEqual(first);
    expect(await fixture().add(await launch({}, "node2"), both)).toEqual(first);
    expect((await fixture().held(net)).map(({ users }) => users?.length)).toEqual([2, 2]);
  });

  it("overlapping ranges: two addresses of one claim, kept apart by their part", async () => {
    const { net, launch, config } = await scene("parts");
    const nested = config({ ipRanges: [{ range: "10.65.0.0/24" }, { range: "10.65.0.0/16" }] });
    const first = await fixture().add(await launch(), nested);
    expect(new Set(first).size).toBe(2);
    expect(await fixture().add(await launch({}, "node2"), nested)).toEqual(first);
    const parts = (await fixture().held(net)).map(({ owner }) =>
      owner.kind === "claim" ? `part ${owner.part ?? 0}` : "",
    );
    expect(parts.toSorted()).toEqual(["part 0", "part 1"]);
  });

  it("a range without a free address: the claim says so, keeps what it has, and goes on when there is one", async () => {
    const { net, claim, launch, config } = await scene("full");
    const tight = config({ ipRanges: [{ range: "10.66.0.0/24" }, { range: "10.66.1.0/30" }] });
    const fillers = [];
    for (const name of ["x", "y"]) {
      const pod = await fixture().pod("node2", `${net}-${name}`);
      fillers.push(pod);
      expect((await fixture().askAt("ADD", pod, persistent(net, { range: "10.66.1.0/30" }), "net1")).status).toBe(0);
    }
    const pod = await launch();
    const { json } = await fixture().ask("ADD", pod, tight);
    expect(json.code).toBe(101);
    const { status } = await fixture().settled(claim, (each) => conditionOf(each) === "False SubnetExhausted");
    expect(status?.ips).toHaveLength(1);
    await fixture().askAt("DEL", fillers[0]!, persistent(net, { range: "10.66.1.0/30" }), "net1");
    // As a kubelet does: a picture of the range may be a second old.
    const told = await until(() => fixture().add(pod, tight), { what: "the address that was freed", everyMs: 200 });
    expect(told[0]).toBe(status!.ips[0]);
    await fixture().settled(claim, (each) => conditionOf(each) === "True SuccessfulAllocation");
  });

  it("an address whose rest is not over is given where nothing else is left, and the pod is told", async () => {
    const { net, launch, config } = await scene("early");
    const tight = config({ range: "10.66.2.0/24", range_start: "10.66.2.9", range_end: "10.66.2.9" });
    const before = await fixture().pod("node1", `before-${net}`);
    expect((await fixture().askAt("ADD", before, tight, "net1")).status).toBe(0);
    const [hold] = await fixture().held(net);
    await fixture().release(hold!, 600_000);
    const pod = await launch({}, "node2");
    expect(await until(() => fixture().add(pod, tight), { what: "the address that rests", everyMs: 200 })).toEqual([
      "10.66.2.9/24",
    ]);
    await fixture().told(`${pod.name} AddressGivenEarly`);
  });

  it.each([
    ["ips of the element", { more: { blue: { ips: ["10.67.0.9/24"] } } }, {}],
    [
      "network.kubevirt.io/addresses",
      { annotations: { "network.kubevirt.io/addresses": '{"blue":["10.67.0.9"]}' } },
      {},
    ],
    ["requested-ips of the claim", {}, { annotations: { [requestedAnnotation]: "10.67.0.9" } }],
  ])("an address asked for by number, in %s, becomes the claim's", async (_, options, metadata) => {
    const { net, launch, config } = await scene("asked", metadata);
    const ranged = config({ range: "10.67.0.0/24", allow_requested_ips: true });
    expect(await fixture().add(await launch(options), ranged)).toEqual(["10.67.0.9/24"]);
    expect(await fixture().add(await launch({}, "node2"), ranged)).toEqual(["10.67.0.9/24"]);
    expect(await addresses(net)).toEqual(["10.67.0.9"]);
  });

  it("one that is not the claim's is refused, and one that is agrees", async () => {
    const { net, claim, launch, config } = await scene("differs");
    const ranged = config({ range: "10.67.0.0/24", allow_requested_ips: true });
    const [first] = await fixture().add(await launch({ more: { blue: { ips: ["10.67.0.9"] } } }), ranged);
    const wrong = await launch({ more: { blue: { ips: ["10.67.0.10"], "ipam-claim-reference": claim } } }, "node2");
    const { json } = await fixture().ask("ADD", wrong, ranged);
    expect(json).toMatchObject({ code: 101, msg: expect.stringMatching(/10\.67\.0\.10 .*10\.67\.0\.9/) as string });
    const right = await launch({ more: { blue: { ips: ["10.67.0.9/24"], "ipam-claim-reference": claim } } }, "node2");
    expect(await fixture().add(right, ranged)).toEqual([first]);
    expect(await addresses(net)).toEqual(["10.67.0.9"]);
  });

  it("what the status names and nobody holds is taken as it is; where another has it, the claim says so", async () => {
    const { net, claim, launch, config } = await scene("restored");
    const ranged = config({ range: "10.68.0.0/24" });
    await withStatus(claim, ["10.68.0.77/24"]);
    expect(await fixture().add(await launch(), ranged)).toEqual(["10.68.0.77/24"]);
    const second = await scene("restored");
    const same = persistent(second.net, { range: "10.68.0.0/24", network_name: net });
    await withStatus(second.claim, ["10.68.0.77/24"]);
    const { json } = await fixture().ask("ADD", await second.launch(), same);
    expect(json.code).toBe(101);
    await fixture().settled(second.claim, (each) => conditionOf(each) === "False IPAddressConflict");
    expect(await fixture().lines(net)).toHaveLength(1);
  });

  it("a status that somebody changed does not move the address", async () => {
    const { net, claim, launch, config } = await scene("edited");
    const ranged = config({ range: "10.68.1.0/24" });
    const first = await fixture().add(await launch(), ranged);
    await fixture().settled(claim, ({ status }) => status !== undefined);
    await withStatus(claim, ["10.68.1.200/24"]);
    expect(await fixture().add(await launch({}, "node2"), ranged)).toEqual(first);
    expect(await addresses(net)).toEqual([first[0]!.split("/")[0]]);
    await fixture().settled(claim, ({ status }) => status?.ips[0] === first[0]);
  });

  it("an address that the network has no range for any more: that claim says so, and others go on", async () => {
    const { claim, launch, config, net } = await scene("shrunk");
    const pod = await launch();
    await fixture().add(pod, config({ range: "10.69.0.0/24" }));
    await fixture().settled(claim, ({ status }) => status !== undefined);
    await fixture().gone(pods, pod.name);
    const { json } = await fixture().ask("ADD", await launch(), config({ range: "10.69.1.0/24" }));
    expect(json).toMatchObject({ code: 101, msg: expect.stringContaining("10.69.1.0/24") as string });
    await fixture().settled(claim, (each) => conditionOf(each) === "False OutOfRange");
    expect(await addresses(net)).toHaveLength(1);
  });

  it("one that was asked for by number too: it is out of range at once, and never anything else", async () => {
    const { claim, launch, config } = await scene("shrunk", { annotations: { [requestedAnnotation]: "10.69.0.77" } });
    const pod = await launch();
    expect(await fixture().add(pod, config({ range: "10.69.0.0/24" }))).toEqual(["10.69.0.77/24"]);
    await fixture().settled(claim, (each) => conditionOf(each) === "True SuccessfulAllocation");
    await fixture().gone(pods, pod.name);
    const { json } = await fixture().ask("ADD", await launch(), config({ range: "10.69.0.0/26" }));
    expect(json).toMatchObject({ code: 101, msg: expect.stringContaining("10.69.0.0/26") as string });
    const told = await fixture().settled(claim, (each) => conditionOf(each) !== "True SuccessfulAllocation");
    expect(conditionOf(told)).toBe("False OutOfRange");
  });

  it("a namespace's quota counts what claims hold, and gives back what would break it", async () => {
    const { net, launch, config } = await scene("quota");
    await fixture().add(await launch(), config({ range: "10.71.0.0/24" }));
    const { metadata } = await fixture().admin.get(namespaces, { name: namespace });
    const quota = (value: string | null) =>
      fixture().admin.patch(
        namespaces,
        { name: namespace },
        { type: "merge", body: { metadata: { annotations: { "holdfast.io/max-addresses": value } } } },
      );
    expect(metadata.annotations?.["holdfast.io/max-addresses"]).toBeUndefined();
    await quota("1");
    try {
      const daemonFixture = await fixture().daemon({ node: "node3" });
      const other = await scene("quota");
      const { json } = await fixture().ask(
        "ADD",
        await other.launch(),
        other.config({ range: "10.71.0.0/24" }),
        "blue",
        daemonFixture,
      );
      expect(json).toMatchObject({ code: 101, msg: expect.stringContaining("max-addresses") as string });
      expect(await fixture().held(other.net)).toEqual([]);
      // What is held already is not counted anew.
      expect(
        await fixture().add(await launch({}, "node3"), config({ range: "10.71.0.0/24" }), "blue", daemonFixture),
      ).toHaveLength(1);
      expect(await addresses(net)).toHaveLength(1);
    } finally {
      await quota(null);
    }
  });

  it("of many that come at once for the last addresses of a quota, no more are held than it allows", async () => {
    const space = await fixture().namespace(fixture().fresh("tight"), { "holdfast.io/max-addresses": "1" });
    const net = fixture().fresh("crowd");
    const config = persistent(net, { range: "10.71.1.0/24" });
    const asked = ["node1", "node2", "node3"].map(async (node) => {
      const daemonFixture = await fixture().daemon({ node });
      const name = `${net}-${node}`;
      const spec = { nodeName: node, containers: [{ name: "c", image: "none" }] };
      await fixture().admin.create(ipamClaims, {
        metadata: { namespace: space, name },
        spec: { network: net, interface: "" },
      });
      const networks = JSON.stringify([{ name: "nad", "ipam-claim-reference": name }]);
      const annotations = { "k8s.v1.cni.cncf.io/networks": networks };
      const { metadata } = await fixture().admin.create(pods, {
        metadata: { namespace: space, name, annotations },
        spec,
      });
      return {
        daemonFixture,
        ask: { container: name, interfaceName: "net1", args: podArgs(space, name, metadata.uid), config },
      };
    });
    const ready = await Promise.all(asked);
    const told = await Promise.all(
      ready.map(({ daemonFixture, ask }) => daemonFixture.ask({ command: "ADD", ...ask })),
    );
    const given = told.filter(({ status }) => status === 0);
    expect(await fixture().held(net)).toHaveLength(given.length);
    expect(given.length).toBeLessThanOrEqual(1);
    // Those who saw too many were told only that; asked one after the other, as by a kubelet, one has the address.
    for (const { json } of told.filter(({ status }) => status !== 0)) {
      expect(json).toMatchObject({ code: 101, msg: expect.stringContaining("max-addresses") as string });
    }
    const again = async () => {
      let count = 0;
      for (const { daemonFixture, ask } of ready)
        count += Number((await daemonFixture.ask({ command: "ADD", ...ask })).status === 0);
      return count === 1;
    };
    await until(again, { what: "one of them to have the address" });
    expect(await fixture().held(net)).toHaveLength(1);
  });

  it("no default route and no DNS come with it unless they are configured", async () => {
    const { launch, config } = await scene("routes");
    const { json } = await fixture().ask(
      "ADD",
      await launch(),
      config({ range: "10.72.0.0/24", gateway: "10.72.0.1" }),
    );
    expect([json.routes ?? [], json.dns ?? {}]).toEqual([[], {}]);
  });
}
