// The state machine of a persistent address, on a model cluster: claims by hand, networks, nodes. Tests name their row.
import { beforeEach, describe, expect, it } from "vitest";

import { claimFinalizer } from "../../api/claims/claim-marks.ts";
import { Story } from "./testing/story.ts";

let story: Story;
beforeEach(() => {
  story = new Story();
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
    expect(story.ownerOf("a")).toBeUndefined();
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
    expect(story.ownerOf("a")).toBe(story.vmUid("a"));
  });

  it("restore from backup, seen before its status is written: it is waited for, and then as any other", async () => {
    const claim = story.restored("a", undefined, "vm-of-another-life");
    await story.run("a");
    expect(story.state("a")).toBe("FOREIGN");
    story.cluster.claims.update(claim, (now) => ({ ...now, status: { ips: ["10.1.0.9/24"] } }));
    story.cluster.nowMs += 2 * 60_000;
    await story.rest("a");
    expect(story.state("a")).toBe("FOREIGN");
    expect(story.addresses("a")).toEqual(["10.1.0.9"]);
  });

  it("restore from backup without any status: nothing is to be adopted, and the VM waits no longer than a minute", async () => {
    story.restored("a", undefined, "vm-of-another-life");
    await story.run("a");
    expect(story.state("a")).toBe("FOREIGN");
    story.cluster.nowMs += 60_001;
    await story.rest("a");
    expect(story.state("a")).toBe("BOUND");
    expect(story.ownerOf("a")).toBe(story.vmUid("a"));
  });

  it("QUAR: nobody gets the address while it cools down; cooldown over: free, NONE", async () => {
    story.cluster.cooldownMs = 30_000;
    await story.run("a");
    const before = story.addresses("a");
    await story.delete("a");
    expect(story.state("a")).toBe("NONE");
    await story.run("b");
    expect(story.addresses("b")).not.toEqual(before);
    story.cluster.nowMs += 30_000;
    await story.run("c");
    expect(story.addresses("c")).toEqual(before);
  });

  it("pod of another owner, any: it counts for nothing, whatever it refers to", async () => {
    await story.run("a");
    await story.run("b");
    const pod = story.pods("b")[0]!;
    const referring = pod.listed.map((each) => ({ ...each, claim: "a.n" }));
    story.cluster.pods.update(pod, (now) => ({ ...now, listed: referring }));
    expect(story.state("a")).toBe("BOUND");
    await story.delete("a");
    expect(story.claim("a")).toBeUndefined();
    expect(story.addresses("a")).toEqual([]);
    expect(story.addresses("b")).toHaveLength(1);
  });
});
