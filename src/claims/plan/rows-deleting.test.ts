// The state machine of a persistent address, on a model cluster: deleting. Tests name their row.
import { beforeEach, describe, expect, it } from "vitest";

import { claimFinalizer, continuesAnnotation } from "../../api/claims/claim-marks.ts";
import { Story } from "./testing/story.ts";

let story: Story;
beforeEach(() => {
  story = new Story();
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
    expect(story.state("a")).toBe("TERM");
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
    expect(story.ownerOf("a")).toBe(story.vmi("a").metadata.uid);
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
    expect(story.ownerOf("a")).toBe(story.vmUid("a"));
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
    expect(story.vmUid("a")).not.toBe(vm.metadata.uid);
    expect(story.claim("a")!.metadata.uid).toBe(old);
    expect(story.state("a")).toBe("FOREIGN");
    expect(story.events("a")).toContain("vm ClaimNameTaken");
    expect(story.pods("a").every(({ status }) => status.length === 0)).toBe(true);
    story.cluster.nodes.set(node, "ready");
    await story.rest("a");
    expect(story.state("a")).toBe("BOUND");
    expect(story.ownerOf("a")).toBe(story.vmUid("a"));
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
      expect(story.released()).toBe(0);
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
