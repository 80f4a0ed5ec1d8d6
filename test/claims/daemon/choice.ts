// Which claim an interface goes by, and what happens where there is none.
import { afterEach, expect, it } from "vitest";

import { swappedClaimName } from "../../../src/api/claims/claim-marks.ts";
import { ipamClaims, pods } from "../../../src/cluster/resources.ts";
import { until } from "../../lab/wait.ts";
import { network } from "../../node/fixture.ts";
import { addressesOf, conditionOf, namespace, persistent } from "./fixture.ts";
import type { GetClaimFixture } from "./suite.ts";

export function choiceStories(fixture: GetClaimFixture): void {
  const range = { range: "10.62.0.0/24" };
  afterEach(() => fixture().gate("on"));
  /** A daemon that has heard the leader's word. */
  const hasHeard = () => fixture().daemon({ node: "node1", claimWaitMs: 500 });

  it("a reference is waited for: the claim comes after the pod", async () => {
    const net = fixture().fresh("early");
    const machine = await fixture().machine(net);
    const pod = await fixture().launcher(machine, "node1", {
      more: { blue: { "ipam-claim-reference": `${net}.blue` } },
    });
    const asked = fixture().ask("ADD", pod, persistent(net, range));
    await waits(net);
    await fixture().claim(machine, "blue", net);
    expect(addressesOf(await asked)).toHaveLength(1);
    expect((await fixture().lines(net))[0]).toContain(`claim:${net}.blue`);
  });

  it("so is a claim that nobody refers to, where definition and gate promise one", async () => {
    const net = fixture().fresh("promised");
    const machine = await fixture().machine(net);
    const pod = await fixture().launcher(machine, "node1");
    const asked = fixture().ask("ADD", pod, persistent(net, range));
    await waits(net);
    await fixture().claim(machine, "blue", net);
    expect(addressesOf(await asked)).toHaveLength(1);
    expect((await fixture().lines(net))[0]).toContain(`claim:${net}.blue`);
  });

  /** Nothing is held for a while: the ADD is on its way, and waits. */
  async function waits(net: string): Promise<void> {
    const daemonFixture = await fixture().daemonFixture("node1");
    await until(async () => daemonFixture.calls.filter((each) => each === "GET 404").length > 0, {
      what: "the daemon to look",
    });
    daemonFixture.calls.length = 0;
    expect(await fixture().held(net)).toEqual([]);
  }

  it("a claim that does not come is named, with the remedy, and the pod has an event", async () => {
    const net = fixture().fresh("never");
    const machine = await fixture().machine(net);
    const pod = await fixture().launcher(machine, "node1");
    const daemonFixture = await hasHeard();
    const { json } = await fixture().ask("ADD", pod, persistent(net, range), "blue", daemonFixture);
    expect(json).toMatchObject({ code: 11, msg: expect.stringContaining(`${namespace}/${net}.blue`) as string });
    expect(json.msg).toContain("holdfast-controller");
    expect(await fixture().held(net)).toEqual([]);
  });

  it.each([
    ["the gate is off", "off", {}, {}],
    ["the VM opted out", "on", { "allow-persistent-ips.k8s.cni.cncf.io": "false" }, {}],
    ["the definition does not allow it", "on", {}, { allowPersistentIPs: false }],
  ] as const)(
    "where %s and there is no claim, the pod has an address of its own that ends with it",
    async (_, gate, labels, more) => {
      await fixture().gate(gate);
      const net = fixture().fresh("plain");
      const machine = await fixture().machine(net, { labels });
      const pod = await fixture().launcher(machine, "node1");
      const daemonFixture = await hasHeard();
      const config = persistent(net, range, more);
      expect(addressesOf(await fixture().ask("ADD", pod, config, "blue", daemonFixture))).toEqual(["10.62.0.1/24"]);
      expect(await fixture().lines(net)).toEqual([`10.62.0.1 pod:${pod.name}`]);
      await fixture().ask("DEL", pod, config, "blue", daemonFixture);
      expect(await fixture().held(net)).toEqual([]);
    },
  );

  it("where nobody has told the gate yet, a VM waits for its claim as if it were on", async () => {
    await fixture().gate("unknown");
    const net = fixture().fresh("untold");
    const machine = await fixture().machine(net);
    const pod = await fixture().launcher(machine, "node1");
    const { json } = await fixture().ask("ADD", pod, persistent(net, range), "blue", await hasHeard());
    expect(json).toMatchObject({ code: 11 });
    expect(await fixture().held(net)).toEqual([]);
  });

  it("where labels are demanded, a VM without one gets no claim, and one with it waits for its own", async () => {
    await fixture().gate("on", true);
    const config = (net: string) => persistent(net, range);
    const [without, having] = [fixture().fresh("unlabelled"), fixture().fresh("labelled")];
    const daemonFixture = await hasHeard();
    const plain = await fixture().launcher(await fixture().machine(without), "node1");
    expect((await fixture().ask("ADD", plain, config(without), "blue", daemonFixture)).status).toBe(0);
    const labels = { "allow-persistent-ips.k8s.cni.cncf.io": "true" };
    const waiting = await fixture().launcher(await fixture().machine(having, { labels }), "node1");
    expect((await fixture().ask("ADD", waiting, config(having), "blue", daemonFixture)).json.code).toBe(11);
  });

  it("a claim that has addresses is used also where persistence was switched off since", async () => {
    const net = fixture().fresh("kept");
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", net);
    const old = await fixture().launcher(machine, "node1");
    const first = await fixture().add(old, persistent(net, range));
    await fixture().settled(`${net}.blue`, ({ status }) => status !== undefined);
    await fixture().gone(pods, old.name);
    await fixture().gate("off");
    const daemonFixture = await hasHeard();
    const pod = await fixture().launcher(machine, "node1");
    const off = network(net, { network_name: net, ...range });
    expect(addressesOf(await fixture().ask("ADD", pod, off, "blue", daemonFixture))).toEqual(first);
    expect(await fixture().lines(net)).toHaveLength(1);
  });

  it("pods that are no launchers and refer to nothing are as they were", async () => {
    const net = fixture().fresh("ordinary");
    const pod = await fixture().pod("node1", net);
    expect(addressesOf(await fixture().askAt("ADD", pod, persistent(net, range), "net1"))).toEqual(["10.62.0.1/24"]);
    expect(await fixture().lines(net)).toEqual([`10.62.0.1 pod:${net}`]);
  });

  it("ordinal interface names are counted among the pod's own elements, absent NICs left out", async () => {
    const net = fixture().fresh("ordinal");
    const nics = ["a", "b", "c"];
    const machine = await fixture().machine(net, { nics, absent: ["a"] });
    for (const nic of nics) await fixture().claim(machine, nic, net);
    const present = { ...machine, networks: machine.networks.filter(({ name }) => name !== "a") };
    const pod = await fixture().launcher(present, "node1", { isOrdinal: true });
    const config = persistent(net, range);
    const [b] = addressesOf(await fixture().askAt("ADD", pod, config, "net1"));
    const [c] = addressesOf(await fixture().askAt("ADD", pod, config, "net2"));
    expect(await fixture().lines(net)).toEqual(
      [
        `${b!.split("/")[0]} claim:${net}.b ${pod.name}@node1`,
        `${c!.split("/")[0]} claim:${net}.c ${pod.name}@node1`,
      ].sort(),
    );
  });

  it("two NICs on one network have a claim each, also where both elements name the same", async () => {
    const net = fixture().fresh("mistaken");
    const machine = await fixture().machine(net, { nics: ["a", "b"] });
    for (const nic of ["a", "b"]) await fixture().claim(machine, nic, net);
    const wrong = { "ipam-claim-reference": `${net}.b` };
    const pod = await fixture().launcher(machine, "node1", { more: { a: wrong, b: wrong } });
    const config = persistent(net, range);
    const [a, b] = [await fixture().add(pod, config, "a"), await fixture().add(pod, config, "b")];
    expect(a).not.toEqual(b);
    expect((await fixture().held(net)).map(({ owner }) => owner.name).sort()).toEqual([`${net}.a`, `${net}.b`]);
  });

  it("a claim for another network is refused with both names; a NIC that was moved has a claim of its own", async () => {
    const [net, other] = [fixture().fresh("here"), fixture().fresh("there")];
    await fixture().stake(`${net}-claim`, other);
    const networks = JSON.stringify([{ name: "nad", "ipam-claim-reference": `${net}-claim` }]);
    const pod = await fixture().pod("node1", `${net}-pod`, {
      annotations: { "k8s.v1.cni.cncf.io/networks": networks },
    });
    const { json } = await fixture().askAt("ADD", pod, persistent(net, range), "net1");
    expect(json).toMatchObject({ code: 101, msg: expect.stringMatching(new RegExp(`${other}.*${net}`)) as string });
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", other);
    await fixture().claim(machine, "blue", net, { name: swappedClaimName(net, "blue", net) });
    await fixture().add(await fixture().launcher(machine, "node1"), persistent(net, range));
    expect((await fixture().held(net)).map(({ owner }) => owner.name)).toEqual([swappedClaimName(net, "blue", net)]);
  });

  it("the claim is in the pod's namespace, also where the definition is elsewhere", async () => {
    const net = fixture().fresh("elsewhere");
    const machine = await fixture().machine(net, { definition: "kube-system/shared" });
    await fixture().claim(machine, "blue", net);
    const reference = { "ipam-claim-reference": `${net}.blue` };
    const pod = await fixture().launcher(machine, "node1", { more: { blue: reference } });
    await fixture().add(pod, persistent(net, range));
    expect((await fixture().lines(net))[0]).toContain(`claim:${net}.blue`);
    expect((await fixture().held(net))[0]!.owner.namespace).toBe(namespace);
  });

  it.each(["annotation", "default-network"])("the claim of a primary network is found by its %s", async (how) => {
    const net = fixture().fresh("primary");
    const networks = [{ name: "default", pod: {} }];
    const machine = { ...(await fixture().machine(net)), networks };
    await fixture().claim(machine, "default", net, { name: `${net}.default` });
    const element = JSON.stringify([{ name: "nad", namespace, "ipam-claim-reference": `${net}.default` }]);
    const annotations: Record<string, string> =
      how === "annotation"
        ? { "k8s.ovn.org/primary-udn-ipamclaim": `${net}.default` }
        : { "v1.multus-cni.io/default-network": element };
    const pod = await fixture().launcher(machine, "node1", { annotations });
    const told = await fixture().askAt("ADD", pod, persistent(net, range, { role: "primary" }), "eth0");
    expect(addressesOf(told)).toHaveLength(1);
    expect((await fixture().lines(net))[0]).toContain(`claim:${net}.default`);
  });

  it("a NIC that is plugged in is found though the informer has the pod without it", async () => {
    const net = fixture().fresh("plugged");
    const machine = await fixture().machine(net, { nics: ["blue"] });
    const pod = await fixture().launcher({ ...machine, networks: [] }, "node1", { isOrdinal: true });
    const config = persistent(net, range);
    const networks = JSON.stringify([{ name: "nad", namespace, "ipam-claim-reference": `${net}.blue` }]);
    const body = { metadata: { annotations: { "k8s.v1.cni.cncf.io/networks": networks } } };
    await fixture().claim(machine, "blue", net);
    await fixture().admin.patch(pods, { namespace, name: pod.name }, { type: "merge", body });
    addressesOf(await fixture().askAt("ADD", pod, config, "net1"));
    expect((await fixture().lines(net))[0]).toContain(`claim:${net}.blue`);
  });

  it("a claim that is being deleted is used by a pod of its owner", async () => {
    const net = fixture().fresh("ending");
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", net);
    const first = await fixture().add(await fixture().launcher(machine, "node1"), persistent(net, range));
    await fixture().settled(`${net}.blue`, (each) => conditionOf(each).startsWith("True"));
    await fixture().admin.delete(ipamClaims, { namespace, name: `${net}.blue` });
    expect((await fixture().read(`${net}.blue`)).metadata.deletionTimestamp).toBeDefined();
    expect(await fixture().add(await fixture().launcher(machine, "node2"), persistent(net, range))).toEqual(first);
  });
}
