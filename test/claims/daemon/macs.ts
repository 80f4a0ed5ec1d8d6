// Who may have a MAC: what the holds of the network say, and nothing that a tenant may write.
import { expect, it } from "vitest";

import { macLabelName } from "../../../src/api/claims/claim-marks.ts";
import { ipamClaims, pods } from "../../../src/cluster/resources.ts";
import { until } from "../../lab/wait.ts";
import { addressesOf, conditionOf, persistent } from "./fixture.ts";
import type { GetClaimFixture } from "./suite.ts";

const mac = "02:11:22:33:44:66";
const labels = { [macLabelName]: mac.replaceAll(":", "-") };
const withMac = { more: { blue: { mac: mac.toUpperCase() } } };

export function macStories(fixture: GetClaimFixture): void {
  const machine = async (prefix: string, net: string, metadata: { labels?: Record<string, string> } = {}) => {
    const name = fixture().fresh(prefix);
    const made = await fixture().machine(name);
    await fixture().claim(made, "blue", net, metadata);
    return {
      name,
      claim: `${name}.blue`,
      launch: (options = withMac, node = "node1") => fixture().launcher(made, node, options),
    };
  };
  const rangeOf = (net: string, more: object = {}) => persistent(net, { range: "10.70.0.0/24", ...more });

  it("a label that a tenant writes on a claim of another namespace stops no VM, however old the claim is", async () => {
    const net = fixture().fresh("squat");
    const space = await fixture().namespace(fixture().fresh("attacker"));
    const status = { ips: ["10.70.0.9/24"] };
    const spec = { network: net, interface: "" };
    await fixture().admin.create(ipamClaims, { metadata: { namespace: space, name: "squat", labels }, spec });
    const at = { namespace: space, name: "squat" };
    await fixture().admin.patch(ipamClaims, at, { type: "merge", body: { status } }, { subresource: "status" });
    // Times of objects have whole seconds.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const victim = await machine("victim", net, { labels });
    expect(await fixture().add(await victim.launch(), rangeOf(net))).toHaveLength(1);
  });

  it("who holds an address with it keeps it while the VM is stopped; another VM of the network is told, and neither holds nor leaks", async () => {
    const net = fixture().fresh("mac");
    const [first, second] = [await machine("first", net), await machine("second", net, { labels })];
    const pod = await first.launch();
    const given = await fixture().add(pod, rangeOf(net));
    await fixture().gone(pods, pod.name);
    const { json } = await fixture().ask("ADD", await second.launch(), rangeOf(net));
    expect(json).toMatchObject({ code: 101, msg: expect.stringContaining(first.claim) as string });
    await fixture().settled(second.claim, (each) => conditionOf(each) === "False MACAddressConflict");
    expect(await fixture().held(net)).toHaveLength(1);
    expect(await fixture().add(await first.launch(withMac, "node2"), rangeOf(net))).toEqual(given);
  });

  it("one network's MACs are nothing to another: by its name, by its pool namespace, by its range", async () => {
    const net = fixture().fresh("here");
    await fixture().add(await (await machine("here", net)).launch(), rangeOf(net));
    for (const config of [
      persistent(net, { range: "10.70.0.0/24", network_name: fixture().fresh("there") }),
      persistent(net, { range: "10.70.0.0/24", pool_namespace: "nad" }),
      persistent(net, { range: "10.71.0.0/24" }),
    ]) {
      expect(await fixture().add(await (await machine("there", net)).launch(), config)).toHaveLength(1);
    }
  });

  it("a VM that gets another MAC while it is stopped leaves the old one to others", async () => {
    const net = fixture().fresh("changes");
    const [first, second] = [await machine("first", net), await machine("second", net)];
    const pod = await first.launch();
    const given = await fixture().add(pod, rangeOf(net));
    await fixture().gone(pods, pod.name);
    expect(
      await fixture().add(await first.launch({ more: { blue: { mac: "02:00:00:00:00:08" } } }), rangeOf(net)),
    ).toEqual(given);
    expect(await fixture().add(await second.launch(), rangeOf(net))).toHaveLength(1);
  });

  it("what is no MAC is no reason to refuse", async () => {
    const net = fixture().fresh("odd");
    const pod = await (await machine("odd", net)).launch({ more: { blue: { mac: "none of your business!" } } });
    expect(await fixture().add(pod, rangeOf(net))).toHaveLength(1);
  });

  it("of several that start with it at once, one at most gets an address; when all but one have gone, that one does", async () => {
    const net = fixture().fresh("race");
    const nodes = ["node1", "node2", "node3"];
    const all = await Promise.all(nodes.map((_, index) => machine(`race${index}`, net)));
    const launched = await Promise.all(all.map((each, index) => each.launch(withMac, nodes[index])));
    const told = await Promise.all(launched.map((each) => fixture().ask("ADD", each, rangeOf(net))));
    const given = told.filter(({ status }) => status === 0);
    expect(given.length).toBeLessThanOrEqual(1);
    expect(await fixture().held(net)).toHaveLength(given.length);
    const one = told.findIndex(({ status }) => status === 0);
    const ask = async () => addressesOf(await fixture().ask("ADD", launched[Math.max(one, 0)]!, rangeOf(net)));
    expect(await until(ask, { what: "the one that is left" })).toHaveLength(1);
  });
}
