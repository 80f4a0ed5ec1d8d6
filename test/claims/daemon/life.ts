// The life of one address: start, stop, start elsewhere, migration, forced deletion.
import { expect, it } from "vitest";

import { pods } from "../../../src/cluster/resources.ts";
import { until } from "../../lab/wait.ts";
import type { GetClaimWorld } from "./suite.ts";
import { addressesOf, conditionOf, persistent } from "./world.ts";

export function lifeStories(world: GetClaimWorld): void {
  const scene = async (prefix: string, ipam: object = { range: "10.60.0.0/24" }) => {
    const net = world().fresh(prefix);
    const machine = await world().machine(net);
    await world().claim(machine, "blue", net);
    return { net, machine, config: persistent(net, ipam), claim: `${net}.blue` };
  };

  it("at a VM's first start the claim gets an address, and its status says so", async () => {
    const { net, machine, config, claim } = await scene("first");
    const pod = await world().launcher(machine, "node1");
    const [address] = await world().add(pod, config);
    const bare = address!.split("/")[0]!;
    expect(await world().lines(net)).toEqual([`${bare} claim:${claim} ${pod.name}@node1`]);
    const [hold] = await world().held(net);
    expect(hold!.note?.identity).toBe(`${machine.ownerUid}/blue`);
    // By the claim's name, so that daemons that take for it at once try the same.
    expect(JSON.parse(hold!.note?.why ?? "{}")).toMatchObject({ network: net, why: "sticky" });
    const { status } = await world().settled(claim, (each) => each.status !== undefined);
    expect(status).toMatchObject({ ips: [address], ownerPod: { name: pod.name } });
    expect(conditionOf(await world().read(claim))).toBe("True SuccessfulAllocation");
  });

  it("a VMI without a VM owns its claim itself", async () => {
    const net = world().fresh("bare");
    const machine = await world().machine(net, { isBare: true });
    await world().claim(machine, "blue", net);
    const pod = await world().launcher(machine, "node1");
    expect(await world().add(pod, persistent(net, { range: "10.60.0.0/24" }))).toHaveLength(1);
    expect(await world().lines(net)).toHaveLength(1);
  });

  it("the same ADD again, and one of a new sandbox of the same pod, change nothing", async () => {
    const { net, machine, config } = await scene("again");
    const pod = await world().launcher(machine, "node1");
    const first = await world().add(pod, config);
    const before = await world().held(net);
    expect(await world().add(pod, config)).toEqual(first);
    pod.sandbox = `${pod.name}-1`;
    expect(await world().add(pod, config)).toEqual(first);
    expect(await world().held(net)).toEqual(before);
  });

  it("a VM that is stopped and started elsewhere has the same address; no DEL frees it, early, late or twice", async () => {
    const { net, machine, config, claim } = await scene("restart");
    const old = await world().launcher(machine, "node1");
    const first = await world().add(old, config);
    expect((await world().ask("DEL", old, config)).status).toBe(0);
    await world().gone(pods, old.name);
    expect(await world().lines(net)).toHaveLength(1);
    const next = await world().instance(machine);
    const pod = await world().launcher(next, "node2");
    expect(await world().add(pod, config)).toEqual(first);
    expect((await world().ask("DEL", old, config)).status).toBe(0);
    const restarted = await world().daemon({ node: "node1" });
    expect((await world().ask("DEL", old, config, "blue", restarted)).status).toBe(0);
    expect((await world().held(net))[0]!.users).toContainEqual({ uid: pod.uid, name: pod.name, node: "node2" });
    await world().settled(claim, ({ status }) => status?.ownerPod?.name === pod.name);
  });

  it("GC of a runtime that lists nothing frees nothing of a claim", async () => {
    const { net, machine, config } = await scene("gc");
    const pod = await world().launcher(machine, "node1");
    await world().add(pod, config);
    const before = await world().held(net);
    const listing = { ...config, cniVersion: "1.1.0", "cni.dev/valid-attachments": [] };
    expect((await world().ask("GC", pod, listing)).text).toBe("");
    expect(await world().held(net)).toEqual(before);
  });

  it("two pods that come at once to a new claim, and would each take another address, get one", async () => {
    for (let round = 1; round <= 5; round++) {
      const { net, machine, config } = await scene("both");
      const [first, second] = [await world().launcher(machine, "node1"), await world().launcher(machine, "node2")];
      // As where one of the daemons has an older picture of the range.
      const upper = persistent(net, { range: "10.60.0.0/24", range_start: "10.60.0.128" });
      const lower = persistent(net, { range: "10.60.0.0/24", range_end: "10.60.0.127" });
      await Promise.all([world().ask("ADD", first, upper), world().ask("ADD", second, lower)]);
      // The runtime asks again where it was told to.
      const again = await Promise.all([world().add(first, config), world().add(second, config)]);
      expect(again[0]).toEqual(again[1]);
      expect(await world().lines(net)).toHaveLength(1);
    }
  });

  /** A VM that started while the gate was off, and a claim that came since. */
  const unclaimed = async (prefix: string) => {
    await world().gate("off");
    const net = world().fresh(prefix);
    const machine = await world().machine(net);
    const config = persistent(net, { range: "10.60.0.0/24" });
    const source = await world().launcher(machine, "node1");
    const rig = await world().daemon({ node: "node1" });
    const first = await world().add(source, config, "blue", rig);
    await world().gate("on");
    await world().claim(machine, "blue", net);
    return { net, machine, config, source, rig, first, bare: first[0]!.split("/")[0]! };
  };

  it("a guest that got its address before its VM had a claim keeps it when it migrates, and the claim has it from then on", async () => {
    const { net, machine, config, source, rig, first, bare } = await unclaimed("late");
    expect(await world().lines(net)).toEqual([`${bare} pod:${source.name}`]);
    await world().runsIn(machine, source);
    const target = await world().launcher(machine, "node2");
    expect(await world().add(target, config)).toEqual(first);
    const both = `${bare} claim:${net}.blue ${source.name}@node1 ${target.name}@node2`;
    expect(await world().lines(net)).toEqual([both]);
    expect((await world().held(net))[0]!.note?.identity).toBe(`${machine.ownerUid}/blue`);
    await world().end(source);
    expect((await world().ask("DEL", source, config, "blue", rig)).status).toBe(0);
    const restarted = await world().daemon({ node: "node1" });
    expect((await world().ask("DEL", source, config, "blue", restarted)).status).toBe(0);
    expect(await world().lines(net)).toEqual([both]);
  });

  it("no address is inherited from a pod that is over, or is another VM's, whatever the VMI says", async () => {
    const victim = await unclaimed("rich");
    const thief = await world().machine(victim.net + "x");
    await world().claim(thief, "blue", victim.net);
    await world().runsIn(thief, victim.source);
    const pod = await world().launcher(thief, "node2");
    const [other] = await world().add(pod, victim.config);
    expect(other).not.toBe(victim.first[0]);
    expect(await world().lines(victim.net)).toContain(`${victim.bare} pod:${victim.source.name}`);
    await world().end(victim.source);
    await world().runsIn(victim.machine, victim.source);
    const next = await world().launcher(victim.machine, "node3");
    expect(await world().add(next, victim.config)).not.toEqual(victim.first);
  });

  it("where the leader wrote both addresses into the status meanwhile, the first is the claim's, and its pod is answered", async () => {
    const { net, machine, config, claim } = await scene("three");
    const pod = await world().launcher(machine, "node1");
    let isTold = false;
    const rig = await world().through("node1", async (request) => {
      if (request.method !== "PATCH" || !request.path.includes(`/${claim}/status`) || isTold) return;
      isTold = true;
      const [own] = await world().held(net);
      await world().setIps(claim, [`${own!.address}/24`, "10.60.0.250/24"]);
    });
    const [address] = await world().add(pod, config, "blue", rig);
    expect(isTold).toBe(true);
    expect(await world().lines(net)).toEqual([`${address!.split("/")[0]} claim:${claim} ${pod.name}@node1`]);
  });

  it("a migration shares the address; the pod before stays the one that has it, until it is over", async () => {
    const { net, machine, config, claim } = await scene("move");
    const source = await world().launcher(machine, "node1");
    const first = await world().add(source, config);
    await world().settled(claim, ({ status }) => status?.ownerPod?.name === source.name);
    const target = await world().launcher(machine, "node2");
    expect(await world().add(target, config)).toEqual(first);
    const bare = first[0]!.split("/")[0]!;
    expect(await world().lines(net)).toEqual([`${bare} claim:${claim} ${source.name}@node1 ${target.name}@node2`]);
    expect((await world().read(claim)).status?.ownerPod?.name).toBe(source.name);
  });

  it("a third pod is refused while two live, whatever their nodes say, and let in when one has ended", async () => {
    const { net, machine, config, claim } = await scene("third");
    const [one, two] = [await world().launcher(machine, "node1"), await world().launcher(machine, "node2")];
    const first = await world().add(one, config);
    await world().add(two, config);
    const three = await world().launcher(machine, "node3");
    const told = await world().ask("ADD", three, config);
    expect(told.json).toMatchObject({ code: 101, msg: expect.stringContaining(claim) as string });
    expect(told.json.msg).toContain(one.name);
    // It has its addresses all the same.
    await world().settled(claim, (each) => conditionOf(each) === "True InUse");
    expect((await world().read(claim)).status?.ips).toEqual(first);
    expect((await world().held(net))[0]!.users).toHaveLength(2);
    await world().end(one);
    expect(await world().add(three, config)).toEqual(first);
    await world().settled(claim, (each) => conditionOf(each) === "True SuccessfulAllocation");
  });

  it("after a forced deletion the new pod's ADD comes before the old one's DEL, on the same node", async () => {
    const { net, machine, config } = await scene("forced");
    const old = await world().launcher(machine, "node1");
    const first = await world().add(old, config);
    await world().gone(pods, old.name);
    const pod = await world().launcher(machine, "node1");
    expect(await world().add(pod, config)).toEqual(first);
    expect((await world().ask("DEL", old, config)).status).toBe(0);
    expect((await world().held(net))[0]!.users?.map(({ name }) => name)).toContain(pod.name);
  });

  it("a pod of a later life under the name of an earlier user does not count as that user", async () => {
    const { machine, config, net } = await scene("namesake");
    const old = await world().pod("node1", `${net}-pod`, await metadataOf(machine));
    const first = await world().add(old, config);
    await world().gone(pods, old.name);
    const same = await world().pod("node2", `${net}-pod`, await metadataOf(machine));
    expect(await world().add(same, config)).toEqual(first);
    expect((await world().held(net))[0]!.users?.map(({ uid }) => uid)).toEqual([old.uid, same.uid]);
    const target = await world().launcher(machine, "node3");
    expect(await world().add(target, config)).toEqual(first);
  });

  async function metadataOf(machine: Parameters<ReturnType<GetClaimWorld>["launcher"]>[0]) {
    const model = await world().launcher(machine, "node3");
    const { metadata } = await world().admin.get(pods, { namespace: "default", name: model.name });
    await world().gone(pods, model.name);
    const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
    return { labels, annotations, ownerReferences };
  }

  it("CHECK agrees with what ADD told, and finds a pod that is not on the list", async () => {
    const { machine, config } = await scene("check");
    const pod = await world().launcher(machine, "node1");
    const { json: prevResult } = await world().ask("ADD", pod, config);
    const checked = await world().ask("CHECK", pod, { ...config, prevResult });
    expect([checked.status, checked.text]).toEqual([0, ""]);
    const stranger = await world().launcher(machine, "node1");
    expect((await world().ask("CHECK", stranger, { ...config, prevResult })).json).toMatchObject({ code: 100 });
  });

  it("CHECK of a pod that has an address of its own agrees, though its VM has a claim since", async () => {
    const { config, source, rig, first } = await unclaimed("since");
    const prevResult = { cniVersion: "1.0.0", ips: [{ address: first[0] }] };
    const checked = await world().ask("CHECK", source, { ...config, prevResult }, "blue", rig);
    expect([checked.status, checked.text]).toEqual([0, ""]);
    const other = { cniVersion: "1.0.0", ips: [{ address: "10.60.0.77/24" }] };
    const wrong = await world().ask("CHECK", source, { ...config, prevResult: other }, "blue", rig);
    expect(wrong.json).toMatchObject({ code: 100 });
  });

  it("a DEL of a sandbox that goes by a claim needs no API server, and promises nothing for later", async () => {
    const { net, machine, config, claim } = await scene("del");
    const pod = await world().launcher(machine, "node1");
    const { rig, line } = await world().lined({ node: "node1" });
    await world().add(pod, config, "blue", rig);
    await world().settled(claim, ({ status }) => status !== undefined);
    line.cut();
    expect((await world().ask("DEL", pod, config, "blue", rig)).status).toBe(0);
    expect(await rig.registry.metrics()).toMatch(/^holdfast_releases_pending 0$/m);
    line.heal();
    expect(await world().lines(net)).toHaveLength(1);
  });

  it.each([
    ["took it", false],
    ["found it at its start", true],
  ])("what the leader has freed is handed out again by a daemon that %s", async (_, isRestarted) => {
    const { net, machine, config } = await scene("freed", { range: "10.60.9.0/30" });
    const taker = await world().daemon({ node: "node1" });
    const [address] = await world().add(await world().launcher(machine, "node1"), config, "blue", taker);
    const rig = isRestarted ? await world().daemon({ node: "node1" }) : taker;
    const plain = async (name: string) =>
      world().askAt("ADD", await world().pod("node1", `${net}-${name}`), config, "net1", rig);
    expect((await plain("x")).status).toBe(0);
    expect((await plain("y")).json.code).toBe(101);
    const hold = (await world().held(net)).find(({ owner }) => owner.kind === "claim");
    await world().release(hold!);
    const last = await world().pod("node1", `${net}-z`);
    const again = await until(async () => addressesOf(await world().askAt("ADD", last, config, "net1", rig)), {
      what: "the address that was freed",
      everyMs: 300,
    });
    expect(again).toEqual([address]);
  });

  it("with an existing claim an ADD costs two reads at once, one of the hold, one of each user, and one write: the user of the status with the hold", async () => {
    const { machine, config, claim, net } = await scene("cost");
    const [old, source] = [await world().launcher(machine, "node1"), await world().launcher(machine, "node1")];
    const [address] = await world().add(old, config);
    await world().settled(claim, ({ status }) => status !== undefined);
    await world().gone(pods, old.name);
    const { rig, requests } = await world().recorded({ node: "node2" });
    await world().add({ ...source, node: "node2" }, config, "blue", rig); // pool and NIC are known from here on
    await world().settled(claim, ({ status }) => status?.ownerPod?.name === source.name);
    const target = await world().launcher(machine, "node2");
    requests.length = 0;
    await world().add(target, config, "blue", rig);
    const names = {
      [net]: "VMI",
      [claim]: "claim",
      [old.name]: "former user",
      [source.name]: "user",
      [`${net}-${address!.split("/")[0]}`]: "hold",
    };
    // What daemons do beside goes on: only what is about these objects is counted.
    const asked = requests.flatMap(({ method, path }) => {
      const what = names[path.split("?")[0]!.split("/").at(-1)!];
      return what === undefined ? [] : [`${method} ${what}`];
    });
    const all = ["GET VMI", "GET claim", "GET former user", "GET hold", "GET user", "PUT hold"];
    expect(asked.toSorted()).toEqual(all.toSorted());
    expect(asked.indexOf("GET user")).toBeLessThan(asked.indexOf("GET hold"));
  });
}
