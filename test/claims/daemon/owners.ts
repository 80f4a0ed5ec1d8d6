// Whose a claim is: by UID, never by name; claims without an owner; claims that continue others.
import { expect, it } from "vitest";

import {
  claimFinalizer,
  claimInstanceAnnotation,
  claimNicAnnotation,
  claimOwnerAnnotation,
  continuesAnnotation,
} from "../../../src/api/claims/claim-marks.ts";
import { ipamClaims, pods, virtualMachines } from "../../../src/cluster/resources.ts";
import { addressesOf, conditionOf, namespace, persistent } from "./fixture.ts";
import type { Machine } from "./objects.ts";
import type { GetClaimFixture } from "./suite.ts";

export function ownerStories(fixture: GetClaimFixture): void {
  const range = { range: "10.63.0.0/24" };
  const referring = (claim: string, ...more: string[]) => ({
    annotations: {
      "k8s.v1.cni.cncf.io/networks": JSON.stringify(
        [claim, ...more].map((each) => ({ name: "nad", "ipam-claim-reference": each })),
      ),
    },
  });

  it("a pod that names the claim of another owner is refused: pod and claim have an event, the claim a condition, and keeps its address", async () => {
    const net = fixture().fresh("foreign");
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", net);
    await fixture().add(await fixture().launcher(machine, "node1"), persistent(net, range));
    const before = await fixture().held(net);
    const other = await fixture().machine(`${net}-other`);
    const reference = { "ipam-claim-reference": `${net}.blue` };
    const launcher = await fixture().launcher(other, "node1", { more: { blue: reference } });
    const { json } = await fixture().ask("ADD", launcher, persistent(net, range));
    expect(json).toMatchObject({ code: 101, msg: expect.stringContaining("another owner") as string });
    const plain = await fixture().pod("node1", `${net}-plain`, referring(`${net}.blue`));
    expect((await fixture().askAt("ADD", plain, persistent(net, range), "net1")).json.code).toBe(101);
    expect(await fixture().held(net)).toEqual(before);
    const { status } = await fixture().settled(`${net}.blue`, (each) => conditionOf(each) === "True InUse");
    expect(status?.ips).toHaveLength(1);
    await fixture().told(`${plain.name} AddressRefused`, `${launcher.name} AddressRefused`, `${net}.blue InUse`);
  });

  it.each([
    ["by reference", true],
    ["by its name", false],
  ])(
    "a new VM of an old name waits while the old one's claim is there, found %s, and gets an address of its own",
    async (_, isReferred) => {
      const net = fixture().fresh("renewed");
      const old = await fixture().machine(net);
      await fixture().claim(old, "blue", net);
      const before = await fixture().launcher(old, "node1");
      const [first] = await fixture().add(before, persistent(net, range));
      await fixture().gone(pods, before.name);
      await fixture().gone(virtualMachines, net);
      const machine = await fixture().machine(net);
      const more = { blue: { "ipam-claim-reference": `${net}.blue` } };
      const pod = await fixture().launcher(machine, "node1", isReferred ? { more } : {});
      const impatient = await fixture().daemon({ node: "node1", claimWaitMs: 500 });
      const { json } = await fixture().ask("ADD", pod, persistent(net, range), "blue", impatient);
      expect(json).toMatchObject({ code: 11, msg: expect.stringContaining(`${net}.blue`) as string });
      const asked = fixture().ask("ADD", pod, persistent(net, range));
      await fixture().forceAway(`${net}.blue`);
      await fixture().claim(machine, "blue", net);
      // The old one's address is held still: the leader alone frees it.
      expect(addressesOf(await asked)).not.toEqual([first]);
      expect(await fixture().held(net)).toHaveLength(2);
    },
  );

  it("a claim follows its VMI: orphaned, or adopted by a new VM of the same name", async () => {
    const net = fixture().fresh("orphan");
    const machine = await fixture().machine(net);
    const annotations = { [claimInstanceAnnotation]: machine.vmiUid };
    await fixture().claim({ ...machine, ownerUid: "a-vm-that-is-gone" }, "blue", net, { annotations });
    const first = await fixture().add(await fixture().launcher(machine, "node1"), persistent(net, range));
    expect(await fixture().add(await fixture().launcher(machine, "node2"), persistent(net, range))).toEqual(first);
    expect((await fixture().lines(net))[0]).toContain(`claim:${net}.blue`);
  });

  it("a launcher of an earlier VMI does not go by what the VMI of its name has now", async () => {
    const net = fixture().fresh("earlier");
    const machine = await fixture().machine(net);
    await fixture().claim(machine, "blue", net);
    const late = await fixture().launcher(machine, "node1");
    await fixture().instance(machine);
    const { json } = await fixture().ask("ADD", late, persistent(net, range));
    expect(json).toMatchObject({ code: 11, msg: expect.stringContaining("is gone") as string });
    expect(await fixture().held(net)).toEqual([]);
  });

  it("a claim of kubevirt/ipam-extensions is the VM's by its reference", async () => {
    const net = fixture().fresh("upstream");
    const machine = await fixture().machine(net, { nics: ["my-net"] });
    const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: net, uid: machine.ownerUid };
    await fixture().stake(`${net}.my-net`, net, {
      ownerReferences: [owner],
      finalizers: ["kubevirt.io/persistent-ipam"],
    });
    const reference = { "ipam-claim-reference": `${net}.my-net` };
    const pod = await fixture().launcher(machine, "node1", { more: { "my-net": reference } });
    await fixture().add(pod, persistent(net, range), "my-net");
    expect((await fixture().lines(net))[0]).toContain(`claim:${net}.my-net`);
  });

  it("a claim made by hand is for any pod that names it, one at a time", async () => {
    const net = fixture().fresh("stake");
    const config = persistent(net, range);
    await fixture().stake(net, net);
    const [one, two] = [
      await fixture().pod("node1", `${net}-one`, referring(net)),
      await fixture().pod("node2", `${net}-two`, referring(net)),
    ];
    const first = addressesOf(await fixture().askAt("ADD", one, config, "net1"));
    const { json } = await fixture().askAt("ADD", two, config, "net1");
    expect(json).toMatchObject({ code: 101, msg: expect.stringContaining(`${net}-one`) as string });
    await fixture().gone(pods, one.name);
    expect(addressesOf(await fixture().askAt("ADD", two, config, "net1"))).toEqual(first);
  });

  it("two launchers of one VMI share a claim made by hand; a launcher of another VMI does not", async () => {
    const net = fixture().fresh("shared");
    const config = persistent(net, range);
    await fixture().stake(net, net);
    const more = { blue: { "ipam-claim-reference": net } };
    const [machine, other] = [await fixture().machine(net), await fixture().machine(`${net}-b`)];
    const first = await fixture().add(await fixture().launcher(machine, "node1", { more }), config);
    expect(await fixture().add(await fixture().launcher(machine, "node2", { more }), config)).toEqual(first);
    const stranger = await fixture().launcher(other, "node3", { more });
    expect((await fixture().ask("ADD", stranger, config)).json.code).toBe(101);
  });

  it("one pod cannot have one claim on two interfaces", async () => {
    const net = fixture().fresh("twice");
    await fixture().stake(net, net);
    const pod = await fixture().pod("node1", net, referring(net, net));
    addressesOf(await fixture().askAt("ADD", pod, persistent(net, range), "net1"));
    const { json } = await fixture().askAt("ADD", pod, persistent(net, range), "net2");
    expect(json).toMatchObject({ code: 101, msg: expect.stringContaining("net1 and net2") as string });
    expect(await fixture().held(net)).toHaveLength(1);
  });

  it("two pods that come at once to a claim made by hand: one has it, the other is refused, and one address is held", async () => {
    const net = fixture().fresh("race");
    const config = persistent(net, range);
    await fixture().stake(net, net);
    const asked = await Promise.all(
      ["node1", "node2", "node3"].map(async (node) => {
        const pod = await fixture().pod(node, `${net}-${node}`, referring(net));
        return fixture().askAt("ADD", pod, config, "net1");
      }),
    );
    expect(asked.filter(({ status }) => status === 0)).toHaveLength(1);
    expect(asked.filter(({ json }) => json.code === 101)).toHaveLength(2);
    expect(await fixture().held(net)).toHaveLength(1);
  });

  it("a claim by hand that is being deleted takes no new pod", async () => {
    const net = fixture().fresh("leaving");
    const config = persistent(net, range);
    await fixture().stake(net, net, { finalizers: [claimFinalizer] });
    await fixture().admin.delete(ipamClaims, { namespace, name: net });
    const pod = await fixture().pod("node1", net, referring(net));
    expect((await fixture().askAt("ADD", pod, config, "net1")).json.code).toBe(101);
    expect(await fixture().held(net)).toEqual([]);
  });

  /** A claim that was force-deleted under its VM, and the one that is made anew. */
  const continuing = async (net: string, machine: Machine, uid: string, marks: Record<string, string> = {}) => {
    await fixture().forceAway(`${net}.blue`);
    await fixture().claim(machine, "blue", net, { annotations: { [continuesAnnotation]: uid, ...marks } });
  };

  it("a claim that is made anew for the same NIC has the address of the one before", async () => {
    const net = fixture().fresh("anew");
    const machine = await fixture().machine(net);
    const { metadata } = await fixture().claim(machine, "blue", net);
    const old = await fixture().launcher(machine, "node1");
    const first = await fixture().add(old, persistent(net, range));
    await continuing(net, machine, metadata.uid!);
    expect(await fixture().add(await fixture().launcher(machine, "node2"), persistent(net, range))).toEqual(first);
    const [hold, ...rest] = await fixture().held(net);
    expect(rest).toEqual([]);
    expect(hold!.owner.uid).toBe((await fixture().read(`${net}.blue`)).metadata.uid);
    expect(hold!.users).toHaveLength(2);
  });

  it("nobody gets at another's address by saying that a claim continues it", async () => {
    const net = fixture().fresh("thief");
    const victim = await fixture().machine(net);
    const { metadata } = await fixture().claim(victim, "blue", net);
    const [first] = await fixture().add(await fixture().launcher(victim, "node1"), persistent(net, range));
    const thief = await fixture().machine(`${net}-b`);
    await fixture().stake(`${net}-b.blue`, net, {
      annotations: {
        [continuesAnnotation]: metadata.uid!,
        [claimOwnerAnnotation]: thief.ownerUid,
        [claimNicAnnotation]: "blue",
      },
    });
    expect(await fixture().add(await fixture().launcher(thief, "node2"), persistent(net, range))).not.toEqual([first]);
    expect((await fixture().held(net)).find(({ address }) => first!.startsWith(`${address}/`))!.owner.uid).toBe(
      metadata.uid,
    );
  });
}
