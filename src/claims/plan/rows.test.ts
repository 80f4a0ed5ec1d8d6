// Every row of the state machine of a persistent address, as a story on a model cluster. The names of the tests are the rows.
import { beforeEach, describe, expect, it } from "vitest";

import { claimFinalizer, claimOwnerAnnotation, continuesAnnotation, ownershipOf } from "../../api/claim-marks.ts";
import { cooldownMs } from "./testing/cluster.ts";
import { Story } from "./testing/story.ts";

let story: Story;
beforeEach(() => {
  story = new Story();
});

const ownerOf = (name: string): string | undefined => {
  const claim = story.claim(name);
  const ownership = claim === undefined ? undefined : ownershipOf(claim);
  return ownership?.kind === "owned" ? ownership.uid : undefined;
};
const vmUid = (name: string): string => story.cluster.vms.get(name)!.metadata.uid!;
const released = (): number => story.done.filter(({ kind }) => kind === "release").length;

describe("appearing", () => {
  it("VM appears, NONE: a claim with the owner's UID and our finalizer, PEND", async () => {
    expect(story.state("a")).toBe("NONE");
    story.virt.createVm("a", { n: "blue" });
    await story.rest("a");
    expect(story.state("a")).toBe("PEND");
    expect(story.claim("a")).toMatchObject({
      metadata: {
        name: "a.n",
        finalizers: [claimFinalizer],
        annotations: { [claimOwnerAnnotation]: vmUid("a") },
        ownerReferences: [{ kind: "VirtualMachine", uid: vmUid("a") }],
      },
      spec: { network: "blue-net" },
    });
  });

  it("VM appears, FOREIGN: the old claim is finished by its UID, then a new one is made", async () => {
    await story.run("a");
    const [address] = story.addresses("a");
    const before = story.claim("a")!.metadata.uid;
    story.isLed = false;
    await story.delete("a");
    story.virt.createVm("a", { n: "blue" });
    expect(story.claim("a")!.metadata.uid).toBe(before);
    expect(story.state("a")).toBe("FOREIGN");
    story.isLed = true;
    await story.start("a");
    expect(story.claim("a")!.metadata.uid).not.toBe(before);
    expect(ownerOf("a")).toBe(vmUid("a"));
    expect(story.state("a")).toBe("BOUND");
    // The old address was free before the new VM got one, so here it may be the same number.
    expect(released()).toBe(1);
    expect(story.addresses("a")).toEqual([address]);
  });

  it("VMI without a VM, NONE: its own UID is the owner, PEND", async () => {
    const vmi = story.virt.createInstance("a", { n: "blue" })!;
    story.cluster.nodes.clear();
    story.cluster.nodes.set("n1", "ready");
    await story.rest("a");
    expect(ownerOf("a")).toBe(vmi.metadata.uid);
    expect(story.claim("a")!.metadata.ownerReferences).toMatchObject([{ kind: "VirtualMachineInstance" }]);
    expect(story.state("a")).toBe("BOUND");
  });
});

describe("attaching", () => {
  it("pod attaches, PEND: BOUND, and the claim says so", async () => {
    await story.run("a");
    expect(story.state("a")).toBe("BOUND");
    const pod = story.pods("a")[0]!;
    expect(story.claim("a")!.status).toMatchObject({
      ips: [`${story.addresses("a")[0]}/24`],
      ownerPod: { name: pod.metadata.name },
      conditions: [{ type: "IPsAllocated", status: "True", reason: "SuccessfulAllocation" }],
    });
  });

  it("pool exhausted, PEND: the daemon's condition stays until something is held", async () => {
    story.virt.createVm("a", { n: "blue" });
    await story.rest("a");
    const claim = story.claim("a")!;
    const conditions = [{ type: "IPsAllocated", status: "False" as const, reason: "SubnetExhausted", message: "full" }];
    story.cluster.claims.update(claim, (now) => ({ ...now, status: { ips: [], conditions } }));
    await story.rest("a");
    expect(story.state("a")).toBe("PEND");
    expect(story.claim("a")!.status?.conditions).toEqual(conditions);
    await story.start("a");
    expect(story.claim("a")!.status?.conditions).toMatchObject([{ status: "True", reason: "SuccessfulAllocation" }]);
  });

  it("pod attaches, RSVD: the same address", async () => {
    await story.run("a");
    const before = story.addresses("a");
    await story.stop("a");
    expect(story.state("a")).toBe("RSVD");
    await story.run("b");
    await story.start("a");
    expect(story.state("a")).toBe("BOUND");
    expect(story.addresses("a")).toEqual(before);
    expect(story.addresses("b")).not.toEqual(before);
  });

  it("second launcher of the same owner, BOUND: MIGR, and the claim names the pod that the VMI runs in", async () => {
    await story.run("a");
    const source = story.pods("a")[0]!;
    await story.target("a");
    expect(story.state("a")).toBe("MIGR");
    expect(story.claim("a")!.status?.ownerPod?.name).toBe(source.metadata.name);
    expect(story.addresses("a")).toHaveLength(1);
  });

  it("third launcher, MIGR: refused, MIGR", async () => {
    await story.run("a");
    await story.target("a");
    const third = await story.target("a");
    expect(third.status).toEqual([]);
    expect(story.state("a")).toBe("MIGR");
  });

  it("source pod ends, MIGR: BOUND; its object stays, and does not count", async () => {
    await story.run("a");
    const source = story.pods("a")[0]!;
    const target = await story.target("a");
    story.virt.move(story.vmi("a"), target);
    story.virt.finish(source);
    await story.rest("a");
    expect(story.state("a")).toBe("BOUND");
    expect(story.claim("a")!.status?.ownerPod?.name).toBe(target.metadata.name);
    expect(story.cluster.holds()[0]!.users).toMatchObject([{ uid: target.metadata.uid }]);
  });

  it("target pod ends, MIGR: BOUND with the source", async () => {
    await story.run("a");
    const source = story.pods("a")[0]!;
    story.virt.finish(await story.target("a"));
    await story.rest("a");
    expect(story.state("a")).toBe("BOUND");
    expect(story.cluster.holds()[0]!.users).toMatchObject([{ uid: source.metadata.uid }]);
  });

  it("pod force-deleted, the new pod's ADD before the old one's DEL: the same address", async () => {
    await story.run("a");
    const before = story.addresses("a");
    story.virt.forceDelete(story.pods("a")[0]!);
    await story.rest("a");
    expect(story.cluster.sandboxes).toHaveLength(2);
    expect(story.state("a")).toBe("BOUND");
    expect(story.addresses("a")).toEqual(before);
  });

  it("last pod ends, BOUND: RSVD", async () => {
    await story.run("a");
    await story.stop("a");
    expect(story.state("a")).toBe("RSVD");
    expect(story.claim("a")!.status?.ownerPod).toBeUndefined();
    expect(story.addresses("a")).toHaveLength(1);
  });
});

describe("plugging", () => {
  it("hot-plug, per NIC: a claim for each NIC, also of one network", async () => {
    await story.run("a");
    await story.change("a", { n: "blue", m: "blue" });
    expect(story.state("a", "m")).toBe("BOUND");
    expect(new Set(story.addresses("a")).size).toBe(2);
  });

  it("hot-plug, the pod has the NIC before the claim exists: PEND, then BOUND", async () => {
    await story.run("a");
    story.isLed = false;
    await story.change("a", { n: "blue", m: "green" });
    expect(story.pods("a")[0]!.listed).toHaveLength(2);
    expect(story.state("a", "m")).toBe("NONE");
    story.isLed = true;
    await story.rest("a");
    expect(story.state("a", "m")).toBe("BOUND");
  });

  it("hot-unplug requested, BOUND: kept while attached, DETACH", async () => {
    await story.run("a");
    await story.change("a", { n: "blue" }, ["n"]);
    expect(story.state("a")).toBe("DETACH");
    expect(story.addresses("a")).toHaveLength(1);
  });

  it("unplug, VM stopped, RSVD: released", async () => {
    await story.run("a");
    await story.stop("a");
    await story.change("a", { n: "blue" }, ["n"]);
    expect(story.state("a")).toBe("NONE");
    expect(story.addresses("a")).toEqual([]);
  });

  it("detached in all pods, DETACH: released while the pod lives on", async () => {
    await story.run("a", { n: "blue", m: "green" });
    await story.change("a", { n: "blue", m: "green" }, ["n"]);
    const pod = story.pods("a")[0]!;
    expect(pod.hasStatus).toBe(true);
    story.cluster.pods.update(pod, (now) => ({ ...now, status: now.status.filter(({ nic }) => nic !== "n") }));
    story.cluster.sandboxes = story.cluster.sandboxes.filter(({ nic }) => nic !== "n");
    await story.rest("a");
    expect(story.claim("a")).toBeUndefined();
    expect(story.cluster.holds().map(({ owner }) => owner.name)).toEqual(["a.m"]);
  });

  it("migration during unplug, DETACH: held until both pods have dropped it", async () => {
    await story.run("a");
    const source = story.pods("a")[0]!;
    await story.change("a", { n: "blue" }, ["n"]);
    const target = await story.target("a");
    expect(target.listed).toEqual([]);
    expect(story.state("a")).toBe("DETACH");
    story.virt.move(story.vmi("a"), target);
    story.virt.finish(source);
    await story.rest("a");
    expect(story.claim("a")).toBeUndefined();
    expect(story.addresses("a")).toEqual([]);
  });

  it("re-plug before release, DETACH: the same address, BOUND", async () => {
    await story.run("a");
    const before = story.addresses("a");
    await story.change("a", { n: "blue" }, ["n"]);
    await story.change("a", { n: "blue" });
    expect(story.state("a")).toBe("BOUND");
    expect(story.addresses("a")).toEqual(before);
  });

  it("NAD swap under a running VM: a second claim, and the old one goes when no pod has it", async () => {
    await story.run("a");
    const source = story.pods("a")[0]!;
    const [old] = story.addresses("a");
    await story.change("a", { n: "green" });
    expect([...story.cluster.claims.objects.values()].map(({ spec }) => spec.network)).toEqual([
      "blue-net",
      "green-net",
    ]);
    const target = await story.target("a");
    expect(story.addresses("a")).toHaveLength(2);
    story.virt.move(story.vmi("a"), target);
    story.virt.finish(source);
    await story.rest("a");
    expect([...story.cluster.claims.objects.values()].map(({ spec }) => spec.network)).toEqual(["green-net"]);
    expect(story.addresses("a")).not.toContain(old);
    expect(story.state("a")).toBe("BOUND");
  });
});

describe("deleting", () => {
  it.each([
    ["background", undefined],
    ["foreground", "foregroundDeletion"],
  ])("VM delete, %s, BOUND: TERM until VMI and pods are gone, then released", async (_, finalizer) => {
    await story.run("a");
    const node = story.pods("a")[0]!.node;
    story.cluster.nodes.set(node, "unreachable");
    await story.delete("a", finalizer);
    expect(story.addresses("a")).toHaveLength(1);
    expect(story.claim("a")).toBeDefined();
    if (finalizer !== undefined) expect(story.state("a")).toBe("TERM");
    story.cluster.nodes.set(node, "ready");
    await story.rest("a");
    expect(story.state("a")).toBe("NONE");
    expect(story.cluster.claims.objects.size).toBe(0);
    expect(story.cluster.vms.objects.size).toBe(0);
    expect(story.addresses("a")).toEqual([]);
  });

  it.each([
    ["background", undefined],
    ["foreground", "foregroundDeletion"],
  ])("VM delete, %s, MIGR: held until both pods are gone", async (_, finalizer) => {
    await story.run("a");
    const target = await story.target("a");
    story.cluster.nodes.set(target.node, "unreachable");
    await story.delete("a", finalizer);
    expect(story.cluster.sandboxes).toHaveLength(1);
    expect(story.addresses("a")).toHaveLength(1);
    story.cluster.nodes.set(target.node, "ready");
    await story.rest("a");
    expect(story.addresses("a")).toEqual([]);
  });

  it.each([undefined, "foregroundDeletion", "orphan"])("VM delete (%s), RSVD: released", async (finalizer) => {
    await story.run("a");
    await story.stop("a");
    await story.delete("a", finalizer);
    expect(story.cluster.claims.objects.size).toBe(0);
    expect(story.addresses("a")).toEqual([]);
  });

  it("VM delete, PEND: the claim goes", async () => {
    story.virt.createVm("a", { n: "blue" });
    await story.rest("a");
    await story.delete("a");
    expect(story.cluster.claims.objects.size).toBe(0);
  });

  it("VMI without a VM, deleted in the foreground: no deadlock", async () => {
    story.virt.createInstance("a", { n: "blue" });
    await story.rest("a");
    story.cluster.vmis.delete(story.vmi("a"), "foregroundDeletion");
    await story.rest("a");
    expect(story.cluster.vmis.objects.size).toBe(0);
    expect(story.cluster.claims.objects.size).toBe(0);
    expect(story.addresses("a")).toEqual([]);
  });

  it("VM delete, foreground, with an extra finalizer on the VMI: held until the VMI is gone", async () => {
    await story.run("a");
    story.cluster.vmis.update(story.vmi("a"), (now) => ({
      ...now,
      metadata: { ...now.metadata, finalizers: [...now.metadata.finalizers!, "example.org/keep"] },
    }));
    await story.delete("a", "foregroundDeletion");
    expect(story.pods("a")).toEqual([]);
    expect(story.state("a")).toBe("TERM");
    expect(story.addresses("a")).toHaveLength(1);
    story.cluster.vmis.dropFinalizer(story.vmi("a"), "example.org/keep");
    await story.rest("a");
    expect(story.addresses("a")).toEqual([]);
  });

  it.each([true, false])("VM delete, orphan cascade, BOUND: re-owned to the VMI (led meanwhile: %s)", async (isLed) => {
    await story.run("a");
    const before = story.addresses("a");
    story.isLed = isLed;
    await story.delete("a", "orphan");
    story.isLed = true;
    await story.rest("a");
    expect(story.cluster.vms.objects.size).toBe(0);
    expect(ownerOf("a")).toBe(story.vmi("a").metadata.uid);
    expect(story.claim("a")!.metadata.ownerReferences).toMatchObject([{ uid: story.vmi("a").metadata.uid }]);
    expect(story.state("a")).toBe("BOUND");
    expect(story.addresses("a")).toEqual(before);
    expect(story.cluster.holds()[0]!.note?.identity).toBe(`${story.vmi("a").metadata.uid}/n`);
  });

  it.each([true, false])("orphaned without a recorded VMI: the users of the address tell (led: %s)", async (isLed) => {
    await story.run("a");
    const claim = story.claim("a")!;
    story.isLed = false;
    await story.delete("a", "orphan");
    story.cluster.claims.update(claim, (now) => {
      const { "holdfast.io/claim-instance": _, ...annotations } = now.metadata.annotations!;
      return { ...now, metadata: { ...now.metadata, annotations } };
    });
    story.isLed = isLed;
    if (!isLed) story.virt.createVm("a", { n: "blue" });
    await story.rest("a");
    story.isLed = true;
    await story.rest("a");
    expect(story.claim("a")!.metadata.uid).toBe(claim.metadata.uid);
    expect(story.state("a")).toBe("BOUND");
  });

  it.each([true, false])("a VM of the same name adopts the VMI, BOUND: the claim follows (led: %s)", async (isLed) => {
    await story.run("a");
    const before = story.addresses("a");
    const claim = story.claim("a")!.metadata.uid;
    story.isLed = isLed;
    await story.delete("a", "orphan");
    story.virt.createVm("a", { n: "blue" });
    await story.rest("a");
    story.isLed = true;
    await story.rest("a");
    expect(story.claim("a")!.metadata.uid).toBe(claim);
    expect(ownerOf("a")).toBe(vmUid("a"));
    expect(story.state("a")).toBe("BOUND");
    expect(story.addresses("a")).toEqual(before);
    await story.stop("a");
    await story.start("a");
    expect(story.addresses("a")).toEqual(before);
  });
});

describe("terminating", () => {
  it.each([true, false])(
    "user deletes the claim, VM alive (runs: %s): TERM, the address stays, and it is said",
    async (runs) => {
      await story.run("a");
      if (!runs) await story.stop("a");
      const before = story.addresses("a");
      story.cluster.claims.delete(story.claim("a")!);
      await story.rest("a");
      expect(story.state("a")).toBe("TERM");
      expect(story.addresses("a")).toEqual(before);
      expect(story.events("a")).toEqual(expect.arrayContaining(["claim ClaimDeleted", "vm ClaimDeleted"]));
    },
  );

  it("pod of the same owner attaches, TERM: the same address", async () => {
    await story.run("a");
    const before = story.addresses("a");
    await story.stop("a");
    story.cluster.claims.delete(story.claim("a")!);
    await story.start("a");
    expect(story.addresses("a")).toEqual(before);
    expect(story.pods("a")[0]!.status).toHaveLength(1);
    expect(story.state("a")).toBe("TERM");
  });

  it("VMI gone and zero pods, the owner deleting or gone, TERM: let go of, and released", async () => {
    await story.run("a");
    story.cluster.claims.delete(story.claim("a")!);
    await story.delete("a");
    expect(story.cluster.claims.objects.size).toBe(0);
    expect(story.addresses("a")).toEqual([]);
  });

  it("same-name VM created, TERM: the new UID waits, and is told", async () => {
    await story.run("a");
    const node = story.pods("a")[0]!.node;
    story.cluster.nodes.set(node, "unreachable");
    const vm = story.cluster.vms.get("a")!;
    const old = story.claim("a")!.metadata.uid;
    await story.delete("a", "foregroundDeletion");
    // By force: neither VM nor VMI waits for the pod.
    story.cluster.vms.objects.delete("a");
    story.cluster.vmis.objects.delete("a");
    story.virt.createVm("a", { n: "blue" });
    await story.start("a");
    expect(vmUid("a")).not.toBe(vm.metadata.uid);
    expect(story.claim("a")!.metadata.uid).toBe(old);
    expect(story.state("a")).toBe("FOREIGN");
    expect(story.events("a")).toContain("vm ClaimNameTaken");
    expect(story.pods("a").every(({ status }) => status.length === 0)).toBe(true);
    story.cluster.nodes.set(node, "ready");
    await story.rest("a");
    expect(story.state("a")).toBe("BOUND");
    expect(ownerOf("a")).toBe(vmUid("a"));
  });

  it.each([true, false])(
    "finalizer force-removed, VM alive (runs: %s): made anew, and continues the address",
    async (runs) => {
      await story.run("a");
      if (!runs) await story.stop("a");
      const before = story.addresses("a");
      const old = story.claim("a")!;
      story.cluster.claims.delete(old);
      story.cluster.forceFinalizers(old, claimFinalizer);
      expect(story.claim("a")).toBeUndefined();
      await story.rest("a");
      expect(story.claim("a")!.metadata.annotations).toMatchObject({ [continuesAnnotation]: old.metadata.uid });
      expect(story.cluster.holds()).toMatchObject([{ owner: { uid: story.claim("a")!.metadata.uid } }]);
      expect(story.addresses("a")).toEqual(before);
      expect(story.state("a")).toBe(runs ? "BOUND" : "RSVD");
      expect(released()).toBe(0);
    },
  );

  it("finalizer force-removed, VM deleting, pod alive: held until the pod is gone", async () => {
    await story.run("a");
    const pod = story.pods("a")[0]!;
    story.cluster.nodes.set(pod.node, "unreachable");
    await story.delete("a", "foregroundDeletion");
    story.cluster.forceFinalizers(story.claim("a")!, claimFinalizer);
    await story.rest("a");
    expect(story.claim("a")).toBeUndefined();
    expect(story.addresses("a")).toHaveLength(1);
    expect(story.state("a")).toBe("TERM");
    story.cluster.nodes.set(pod.node, "ready");
    await story.rest("a");
    expect(story.addresses("a")).toEqual([]);
  });
});

describe("made by hand", () => {
  it("no owner, no pod: no finalizer, and the user's delete releases it", async () => {
    const claim = story.byHand("stake");
    await take("stake");
    await story.rest("stake");
    expect(story.claimNamed("stake")!.metadata.finalizers ?? []).toEqual([]);
    expect(story.cluster.holds()).toHaveLength(1);
    story.cluster.claims.delete(claim);
    await story.rest("stake");
    expect(story.cluster.holds()).toEqual([]);
  });

  it("a pod refers to it: our finalizer while it does, and the address until it ends", async () => {
    story.byHand("stake");
    await take("stake");
    const pod = referring("stake");
    await story.rest("stake");
    expect(story.claimNamed("stake")!.metadata.finalizers).toEqual([claimFinalizer]);
    story.cluster.claims.delete(story.claimNamed("stake")!);
    await story.rest("stake");
    expect(story.claimNamed("stake")).toBeDefined();
    expect(story.cluster.holds()).toHaveLength(1);
    story.cluster.pods.delete(pod);
    await story.rest("stake");
    expect(story.claimNamed("stake")).toBeUndefined();
    expect(story.cluster.holds()).toEqual([]);
  });

  it("its pod ends: the finalizer goes, claim and address stay", async () => {
    story.byHand("stake");
    await take("stake");
    const pod = referring("stake");
    await story.rest("stake");
    story.cluster.pods.delete(pod);
    await story.rest("stake");
    expect(story.claimNamed("stake")!.metadata.finalizers).toEqual([]);
    expect(story.cluster.holds()).toHaveLength(1);
  });

  it("under the name of a VM's claim: never taken for the VM's, and said", async () => {
    const claim = story.byHand("a.n");
    await story.run("a");
    expect(story.claim("a")!.metadata).toMatchObject({ uid: claim.metadata.uid });
    expect(ownerOf("a")).toBeUndefined();
    expect(story.events("a")).toContain("vm ClaimNameTaken");
    story.cluster.claims.delete(claim);
    await story.rest("a");
    expect(story.state("a")).toBe("BOUND");
  });

  const take = async (name: string): Promise<void> => {
    const { uid } = story.claimNamed(name)!.metadata;
    await story.take(name, uid!, "10.1.0.9");
  };
  const referring = (claim: string) => story.referring(claim);
});

describe("networks and nodes", () => {
  it.each(["missing", "unknown", "flag off", "gate off", "opted out"])(
    "NAD %s: what is held is kept, nothing new, clean-up works",
    async (what) => {
      await story.run("a");
      const before = story.addresses("a");
      await story.stop("a");
      if (what === "missing" || what === "unknown") story.cluster.definitions.set("t/blue", what);
      if (what === "flag off") story.cluster.define("blue", { isAllowed: false });
      if (what === "gate off") story.cluster.gate = { gate: "off", needsLabel: false };
      if (what === "opted out") story.optOut("a");
      await story.rest("a");
      expect(story.addresses("a")).toEqual(before);
      expect(story.claim("a")).toBeDefined();
      story.virt.createVm("b", { n: "blue" });
      if (what === "opted out") story.optOut("b");
      await story.rest("b");
      expect(story.claim("b")).toBeUndefined();
      await story.delete("a");
      expect(story.cluster.claims.objects.size).toBe(0);
      expect(story.addresses("a")).toEqual([]);
    },
  );

  it("subnet shrinks: that claim is flagged, and keeps its address", async () => {
    await story.run("a");
    await story.run("b");
    const [outside] = story.addresses("a");
    const steps = story.planWith("a", (facts) => ({
      ...facts,
      holds: facts.holds.map((hold) => ({ ...hold, isOutOfRange: hold.hold.address.toString() === outside })),
    }));
    expect(steps).toMatchObject([
      { kind: "status", status: { ips: [`${outside}/24`], conditions: [{ status: "False", reason: "OutOfRange" }] } },
    ]);
    expect(story.planWith("b", (facts) => facts)).toEqual([]);
  });

  it("controller restart, any: what is settled stays as it is", async () => {
    await story.run("a");
    await story.stop("a");
    await story.run("b");
    story.done.length = 0;
    await story.rest("a");
    await story.rest("b");
    expect(story.done).toEqual([]);
  });

  it("node lost, VM restarted elsewhere: the same address there; the old user stays listed until its node is back", async () => {
    await story.run("a");
    const before = story.addresses("a");
    const old = story.pods("a")[0]!;
    story.cluster.nodes.set(old.node, "unreachable");
    story.virt.forceDelete(old);
    await story.rest("a");
    const uids = (): readonly string[] => story.cluster.holds()[0]!.users!.map(({ uid }) => uid);
    expect(story.addresses("a")).toEqual(before);
    expect(story.state("a")).toBe("BOUND");
    expect(uids()).toEqual([old.metadata.uid, story.pods("a")[0]!.metadata.uid]);
    await story.delete("a");
    expect(story.addresses("a")).toEqual(before);
    story.cluster.nodes.set(old.node, "fenced");
    await story.rest("a");
    expect(story.addresses("a")).toEqual([]);
  });

  it("restore from backup: another UID, so it is not the VM's; it waits to be adopted, and is finished in time", async () => {
    story.restored("a", "10.1.0.9", "vm-of-another-life");
    await story.run("a");
    expect(story.state("a")).toBe("FOREIGN");
    expect(story.events("a")).toEqual(expect.arrayContaining(["claim ClaimOfAnotherLife", "vm ClaimNameTaken"]));
    expect(story.addresses("a")).toEqual(["10.1.0.9"]);
    story.cluster.nowMs += 10 * 60_000 + 1;
    await story.rest("a");
    expect(story.state("a")).toBe("BOUND");
    expect(ownerOf("a")).toBe(vmUid("a"));
  });

  it("cooldown over, QUAR: free, NONE", () => {
    // The ledger's, and its conformance suite's: here nothing is left to plan.
    expect(cooldownMs).toBe(0);
    expect(story.state("a")).toBe("NONE");
    expect(story.planWith("a", (facts) => facts)).toEqual([]);
  });
});
