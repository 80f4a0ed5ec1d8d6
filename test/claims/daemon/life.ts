// The life of one address: start, stop, start elsewhere, migration, forced deletion.
import { expect, it } from "vitest";

import { pods } from "../../../src/cluster/resources.ts";
import { until } from "../../lab/wait.ts";
import { addressesOf, conditionOf, persistent } from "./fixture.ts";
import type { GetClaimFixture } from "./suite.ts";

export function lifeStories(fixture: GetClaimFixture): void {
  const scene = async (prefix: string, ipam: object = { range: "10.60.0.0/24" }) => {
    const net = fixture().fresh(prefix);
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", net);
    return { net, machine, config: persistent(net, ipam), claim: `${net}.blue` };
  };

  it("at a VM's first start the claim gets an address, and its status says so", async () => {
    const { net, machine, config, claim } = await scene("first");
    const pod = await fixture().launcher(machine, "node1");
    const [address] = await fixture().add(pod, config);
    const bare = address!.split("/")[0]!;
    expect(await fixture().lines(net)).toEqual([`${bare} claim:${claim} ${pod.name}@node1`]);
    const [hold] = await fixture().held(net);
    expect(hold!.note?.identity).toBe(`${machine.ownerUid}/blue`);
    // By the claim's name, so that daemons that take for it at once try the same.
    expect(JSON.parse(hold!.note?.why ?? "{}")).toMatchObject({ network: net, why: "sticky" });
    const { status } = await fixture().settled(claim, (each) => each.status !== undefined);
    expect(status).toMatchObject({ ips: [address], ownerPod: { name: pod.name } });
    expect(conditionOf(await fixture().read(claim))).toBe("True SuccessfulAllocation");
  });

  it("a VMI without a VM owns its claim itself", async () => {
    const net = fixture().fresh("bare");
    const machine = await fixture().machine(net, { isBare: true });
    await fixture().claim(machine, "blue", net);
    const pod = await fixture().launcher(machine, "node1");
    expect(await fixture().add(pod, persistent(net, { range: "10.60.0.0/24" }))).toHaveLength(1);
    expect(await fixture().lines(net)).toHaveLength(1);
  });

  it("the same ADD again, and one of a new sandbox of the same pod, change nothing", async () => {
    const { net, machine, config } = await scene("again");
    const pod = await fixture().launcher(machine, "node1");
    const first = await fixture().add(pod, config);
    const before = await fixture().held(net);
    expect(await fixture().add(pod, config)).toEqual(first);
    pod.sandbox = `${pod.name}-1`;
    expect(await fixture().add(pod, config)).toEqual(first);
    expect(await fixture().held(net)).toEqual(before);
  });

  it("a VM that is stopped and started elsewhere has the same address; no DEL frees it, early, late or twice", async () => {
    const { net, machine, config, claim } = await scene("restart");
    const old = await fixture().launcher(machine, "node1");
    const first = await fixture().add(old, config);
    expect((await fixture().ask("DEL", old, config)).status).toBe(0);
    await fixture().gone(pods, old.name);
    expect(await fixture().lines(net)).toHaveLength(1);
    const next = await fixture().instance(machine);
    const pod = await fixture().launcher(next, "node2");
    expect(await fixture().add(pod, config)).toEqual(first);
    expect((await fixture().ask("DEL", old, config)).status).toBe(0);
    const restarted = await fixture().daemon({ node: "node1" });
    expect((await fixture().ask("DEL", old, config, "blue", restarted)).status).toBe(0);
    expect((await fixture().held(net))[0]!.users).toContainEqual({ uid: pod.uid, name: pod.name, node: "node2" });
    await fixture().settled(claim, ({ status }) => status?.ownerPod?.name === pod.name);
  });

  it("GC of a runtime that lists nothing frees nothing of a claim", async () => {
    const { net, machine, config } = await scene("gc");
    const pod = await fixture().launcher(machine, "node1");
    await fixture().add(pod, config);
    const before = await fixture().held(net);
    const listing = { ...config, cniVersion: "1.1.0", "cni.dev/valid-attachments": [] };
    expect((await fixture().ask("GC", pod, listing)).text).toBe("");
    expect(await fixture().held(net)).toEqual(before);
  });

  it("two pods that come at once to a new claim, and would each take another address, get one", async () => {
    for (let round = 1; round <= 5; round++) {
      const { net, machine, config } = await scene("both");
      const [first, second] = [await fixture().launcher(machine, "node1"), await fixture().launcher(machine, "node2")];
      // As where one of the daemons has an older picture of the range.
      const upper = persistent(net, { range: "10.60.0.0/24", range_start: "10.60.0.128" });
      const lower = persistent(net, { range: "10.60.0.0/24", range_end: "10.60.0.127" });
      await Promise.all([fixture().ask("ADD", first, upper), fixture().ask("ADD", second, lower)]);
      // The runtime asks again where it was told to.
      const again = await Promise.all([fixture().add(first, config), fixture().add(second, config)]);
      expect(again[0]).toEqual(again[1]);
      expect(await fixture().lines(net)).toHaveLength(1);
    }
  });

  /** A VM that started while the gate was off, and a claim that came since. */
  const unclaimed = async (prefix: string) => {
    await fixture().gate("off");
    const net = fixture().fresh(prefix);
    const machine = await fixture().machine(net);
    const config = persistent(net, { range: "10.60.0.0/24" });
    const source = await fixture().launcher(machine, "node1");
    const daemonFixture = await fixture().daemon({ node: "node1" });
    const first = await fixture().add(source, config, "blue", daemonFixture);
    await fixture().gate("on");
    await fixture().claim(machine, "blue", net);
    return { net, machine, config, source, daemonFixture, first, bare: first[0]!.split("/")[0]! };
  };

  it("a guest that got its address before its VM had a claim keeps it when it migrates, and the claim has it from then on", async () => {
    const { net, machine, config, source, daemonFixture, first, bare } = await unclaimed("late");
    expect(await fixture().lines(net)).toEqual([`${bare} pod:${source.name}`]);
    await fixture().runsIn(machine, source);
    const target = await fixture().launcher(machine, "node2");
    expect(await fixture().add(target, config)).toEqual(first);
    const both = `${bare} claim:${net}.blue ${source.name}@node1 ${target.name}@node2`;
    expect(await fixture().lines(net)).toEqual([both]);
    expect((await fixture().held(net))[0]!.note?.identity).toBe(`${machine.ownerUid}/blue`);
    await fixture().end(source);
    expect((await fixture().ask("DEL", source, config, "blue", daemonFixture)).status).toBe(0);
    const restarted = await fixture().daemon({ node: "node1" });
    expect((await fixture().ask("DEL", source, config, "blue", restarted)).status).toBe(0);
    expect(await fixture().lines(net)).toEqual([both]);
  });

  it("no address is inherited from a pod that is over, or is another VM's, whatever the VMI says", async () => {
    const victim = await unclaimed("rich");
    const thief = await fixture().machine(victim.net + "x");
    await fixture().claim(thief, "blue", victim.net);
    await fixture().runsIn(thief, victim.source);
    const pod = await fixture().launcher(thief, "node2");
    const [other] = await fixture().add(pod, victim.config);
    expect(other).not.toBe(victim.first[0]);
    expect(await fixture().lines(victim.net)).toContain(`${victim.bare} pod:${victim.source.name}`);
    await fixture().end(victim.source);
    await fixture().runsIn(victim.machine, victim.source);
    const next = await fixture().launcher(victim.machine, "node3");
    expect(await fixture().add(next, victim.config)).not.toEqual(victim.first);
  });

  it("where the leader wrote both addresses into the status meanwhile, the first is the claim's, and its pod is answered", async () => {
    const { net, machine, config, claim } = await scene("three");
    const pod = await fixture().launcher(machine, "node1");
    let isTold = false;
    const daemonFixture = await fixture().through("node1", async (request) => {
      if (request.method !== "PATCH" || !request.path.includes(`/${claim}/status`) || isTold) return;
      isTold = true;
      const [own] = await fixture().held(net);
      await fixture().setIps(claim, [`${own!.address}/24`, "10.60.0.250/24"]);
    });
    const [address] = await fixture().add(pod, config, "blue", daemonFixture);
    expect(isTold).toBe(true);
    expect(await fixture().lines(net)).toEqual([`${address!.split("/")[0]} claim:${claim} ${pod.name}@node1`]);
  });

  it("a migration shares the address; the pod before stays the one that has it, until it is over", async () => {
    const { net, machine, config, claim } = await scene("move");
    const source = await fixture().launcher(machine, "node1");
    const first = await fixture().add(source, config);
    await fixture().settled(claim, ({ status }) => status?.ownerPod?.name === source.name);
    const target = await fixture().launcher(machine, "node2");
    expect(await fixture().add(target, config)).toEqual(first);
    const bare = first[0]!.split("/")[0]!;
    expect(await fixture().lines(net)).toEqual([`${bare} claim:${claim} ${source.name}@node1 ${target.name}@node2`]);
    expect((await fixture().read(claim)).status?.ownerPod?.name).toBe(source.name);
  });

  it("a third pod is refused while two live, whatever their nodes say, and let in when one has ended", async () => {
    const { net, machine, config, claim } = await scene("third");
    const [one, two] = [await fixture().launcher(machine, "node1"), await fixture().launcher(machine, "node2")];
    const first = await fixture().add(one, config);
    await fixture().add(two, config);
    const three = await fixture().launcher(machine, "node3");
    const told = await fixture().ask("ADD", three, config);
    expect(told.json).toMatchObject({ code: 101, msg: expect.stringContaining(claim) as string });
    expect(told.json.msg).toContain(one.name);
    // It has its addresses all the same.
    await fixture().settled(claim, (each) => conditionOf(each) === "True InUse");
    expect((await fixture().read(claim)).status?.ips).toEqual(first);
    expect((await fixture().held(net))[0]!.users).toHaveLength(2);
    await fixture().end(one);
    expect(await fixture().add(three, config)).toEqual(first);
    await fixture().settled(claim, (each) => conditionOf(each) === "True SuccessfulAllocation");
  });

  it("after a forced deletion the new pod's ADD comes before the old one's DEL, on the same node", async () => {
    const { net, machine, config } = await scene("forced");
    const old = await fixture().launcher(machine, "node1");
    const first = await fixture().add(old, config);
    await fixture().gone(pods, old.name);
    const pod = await fixture().launcher(machine, "node1");
    expect(await fixture().add(pod, config)).toEqual(first);
    expect((await fixture().ask("DEL", old, config)).status).toBe(0);
    expect((await fixture().held(net))[0]!.users?.map(({ name }) => name)).toContain(pod.name);
  });

  it("a pod of a later life under the name of an earlier user does not count as that user", async () => {
    const { machine, config, net } = await scene("namesake");
    const old = await fixture().pod("node1", `${net}-pod`, await metadataOf(machine));
    const first = await fixture().add(old, config);
    await fixture().gone(pods, old.name);
    const same = await fixture().pod("node2", `${net}-pod`, await metadataOf(machine));
    expect(await fixture().add(same, config)).toEqual(first);
    expect((await fixture().held(net))[0]!.users?.map(({ uid }) => uid)).toEqual([old.uid, same.uid]);
    const target = await fixture().launcher(machine, "node3");
    expect(await fixture().add(target, config)).toEqual(first);
  });

  async function metadataOf(machine: Parameters<ReturnType<GetClaimFixture>["launcher"]>[0]) {
    const model = await fixture().launcher(machine, "node3");
    const { metadata } = await fixture().admin.get(pods, { namespace: "default", name: model.name });
    await fixture().gone(pods, model.name);
    const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
    return { labels, annotations, ownerReferences };
  }

  it("CHECK agrees with what ADD told, and finds a pod that is not on the list", async () => {
    const { machine, config } = await scene("check");
    const pod = await fixture().launcher(machine, "node1");
    const { json: prevResult } = await fixture().ask("ADD", pod, config);
    const checked = await fixture().ask("CHECK", pod, { ...config, prevResult });
    expect([checked.status, checked.text]).toEqual([0, ""]);
    const stranger = await fixture().launcher(machine, "node1");
    expect((await fixture().ask("CHECK", stranger, { ...config, prevResult })).json).toMatchObject({ code: 100 });
  });

  it("CHECK of a pod that has an address of its own agrees, though its VM has a claim since", async () => {
    const { config, source, daemonFixture, first } = await unclaimed("since");
    const prevResult = { cniVersion: "1.0.0", ips: [{ address: first[0] }] };
    const checked = await fixture().ask("CHECK", source, { ...config, prevResult }, "blue", daemonFixture);
    expect([checked.status, checked.text]).toEqual([0, ""]);
    const other = { cniVersion: "1.0.0", ips: [{ address: "10.60.0.77/24" }] };
    const wrong = await fixture().ask("CHECK", source, { ...config, prevResult: other }, "blue", daemonFixture);
    expect(wrong.json).toMatchObject({ code: 100 });
  });

  it("a DEL of a sandbox that goes by a claim needs no API server, and promises nothing for later", async () => {
    const { net, machine, config, claim } = await scene("del");
    const pod = await fixture().launcher(machine, "node1");
    const { daemonFixture, line } = await fixture().lined({ node: "node1" });
    await fixture().add(pod, config, "blue", daemonFixture);
    await fixture().settled(claim, ({ status }) => status !== undefined);
    line.cut();
    expect((await fixture().ask("DEL", pod, config, "blue", daemonFixture)).status).toBe(0);
    expect(await daemonFixture.registry.metrics()).toMatch(/^holdfast_releases_pending 0$/m);
    line.heal();
    expect(await fixture().lines(net)).toHaveLength(1);
  });

  it.each([
    ["took it", false],
    ["found it at its start", true],
  ])("what the leader has freed is handed out again by a daemon that %s", async (_, isRestarted) => {
    const { net, machine, config } = await scene("freed", { range: "10.60.9.0/30" });
    const taker = await fixture().daemon({ node: "node1" });
    const [address] = await fixture().add(await fixture().launcher(machine, "node1"), config, "blue", taker);
    const daemonFixture = isRestarted ? await fixture().daemon({ node: "node1" }) : taker;
    const plain = async (name: string) =>
      fixture().askAt("ADD", await fixture().pod("node1", `${net}-${name}`), config, "net1", daemonFixture);
    expect((await plain("x")).status).toBe(0);
    expect((await plain("y")).json.code).toBe(101);
    const hold = (await fixture().held(net)).find(({ owner }) => owner.kind === "claim");
    await fixture().release(hold!);
    const last = await fixture().pod("node1", `${net}-z`);
    const again = await until(
      async () => addressesOf(await fixture().askAt("ADD", last, config, "net1", daemonFixture)),
      {
        what: "the address that was freed",
        everyMs: 300,
      },
    );
    expect(again).toEqual([address]);
  });

  it("with an existing claim an ADD costs two reads at once, one of the hold, one of each user, and one write: the user of the status with the hold", async () => {
    const { machine, config, claim, net } = await scene("cost");
    const [old, source] = [await fixture().launcher(machine, "node1"), await fixture().launcher(machine, "node1")];
    const [address] = await fixture().add(old, config);
    await fixture().settled(claim, ({ status }) => status !== undefined);
    await fixture().gone(pods, old.name);
    const { daemonFixture, requests } = await fixture().recorded({ node: "node2" });
    await fixture().add({ ...source, node: "node2" }, config, "blue", daemonFixture); // pool and NIC are known now
    await fixture().settled(claim, ({ status }) => status?.ownerPod?.name === source.name);
    const target = await fixture().launcher(machine, "node2");
    requests.length = 0;
    await fixture().add(target, config, "blue", daemonFixture);
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
