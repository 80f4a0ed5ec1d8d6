// The state machine of a persistent address, on a model cluster: coming, attaching, plugging. Tests name their row.
import { beforeEach, describe, expect, it } from "vitest";

import { claimFinalizer, claimOwnerAnnotation } from "../../api/claims/claim-marks.ts";
import { Story } from "./testing/story.ts";

let story: Story;
beforeEach(() => {
  story = new Story();
});

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
        annotations: { [claimOwnerAnnotation]: story.vmUid("a") },
        ownerReferences: [{ kind: "VirtualMachine", uid: story.vmUid("a") }],
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
    expect(story.ownerOf("a")).toBe(story.vmUid("a"));
    expect(story.state("a")).toBe("BOUND");
    // The old address was free before the new VM got one, so here it may be the same number.
    expect(story.released()).toBe(1);
    expect(story.addresses("a")).toEqual([address]);
  });

  it("VMI without a VM, NONE: its own UID is the owner, PEND", async () => {
    const vmi = story.virt.createInstance("a", { n: "blue" })!;
    story.cluster.nodes.clear();
    story.cluster.nodes.set("n1", "ready");
    await story.rest("a");
    expect(story.ownerOf("a")).toBe(vmi.metadata.uid);
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
