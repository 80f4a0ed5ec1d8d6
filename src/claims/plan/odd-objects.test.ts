// Objects that are not as they should be, and claims of others: what is bad becomes an event, and the rest goes on.
import { beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../api/claims/claim-marks.ts";
import type { StoredClaim } from "../../cluster/resources.ts";
import { planFamily } from "./plan.ts";
import { namespace } from "./testing/cluster.ts";
import { gather } from "./testing/gather.ts";
import { Story } from "./testing/story.ts";

let story: Story;
beforeEach(() => {
  story = new Story();
});

const names = (): readonly string[] => [...story.cluster.claims.objects.keys()];
const annotate = (claim: StoredClaim, annotations: Record<string, string>): void => {
  story.cluster.claims.update(claim, (now) => ({
    ...now,
    metadata: { ...now.metadata, annotations: { ...now.metadata.annotations, ...annotations } },
  }));
};

describe("one bad object", () => {
  it("a claim without a spec is said, and the other NICs go on", async () => {
    story.virt.createVm("a", { n: "blue", m: "green" });
    await story.rest("a");
    const { spec: _, ...rest } = story.claim("a")!;
    story.cluster.claims.update(story.claim("a")!, () => rest as StoredClaim);
    story.virt.running.add("a");
    await story.rest("a").catch(() => {}); // the model's daemon is not that careful
    expect(story.events("a")).toContain("claim UnreadableClaim");
    expect(planFamily(gather(story.cluster, "a")).filter(({ kind }) => kind !== "event")).toEqual([]);
  });

  it("a claim of a dead owner goes also without a spec", () => {
    const claim = story.byHand("a.n");
    const { spec: _, ...rest } = claim;
    story.cluster.claims.update(claim, () => rest as StoredClaim);
    annotate(claim, { [marks.claimOwnerAnnotation]: "gone", [marks.claimNicAnnotation]: "n" });
    expect(story.planWith("a", (facts) => facts)).toMatchObject([{ kind: "delete" }]);
  });

  it("a claim with an empty owner is left alone, and said", async () => {
    const claim = story.byHand("a.n");
    annotate(claim, { [marks.claimOwnerAnnotation]: "" });
    await story.run("a", { n: "blue", m: "green" });
    expect(story.claim("a")!.metadata.uid).toBe(claim.metadata.uid);
    expect(story.events("a")).toEqual(expect.arrayContaining(["claim UnreadableClaim", "vm ClaimNameTaken"]));
    expect(story.state("a", "m")).toBe("BOUND");
  });

  it("a pod whose annotation cannot be read may have any address: all are kept while it lives", async () => {
    await story.run("a");
    await story.stop("a");
    const broken = { listed: [], status: [], problem: "the annotation cannot be read" };
    const metadata = { name: "p", namespace, annotations: { "kubevirt.io/domain": "a" }, finalizers: ["kubelet"] };
    const pod = story.cluster.pods.create({ ...broken, metadata, node: "n1", vmiUid: "vmi-x", isOver: false })!;
    await story.delete("a");
    expect(story.events("a")).toContain("pod UnreadableNetworks");
    expect(story.addresses("a")).toHaveLength(1);
    expect(story.claim("a")).toBeDefined();
    story.cluster.pods.delete(pod);
    await story.rest("a");
    expect(story.addresses("a")).toEqual([]);
  });

  it("a VM whose networks are no networks gets no claims, and harms nobody", () => {
    const networks = [null, { multus: {} }, { name: "n", multus: { networkName: 7 } }, { name: "m" }];
    const spec = { template: { spec: { networks: networks as never[] } } };
    story.cluster.vms.create({ metadata: { name: "a", namespace }, spec });
    expect(story.planWith("a", (facts) => facts)).toEqual([]);
  });

  it("users that nobody can read keep an address", async () => {
    await story.run("a");
    await story.delete("a");
    await story.take("a.n", "claim-gone", "10.1.0.9");
    const unreadable = [{ uid: "", name: "", node: "" }];
    const plan = (users: typeof unreadable) =>
      story.planWith("a", (facts) => ({
        ...facts,
        holds: facts.holds.map((each) => ({ ...each, hold: { ...each.hold, users } })),
      }));
    expect(plan(unreadable)).toEqual([]);
    expect(plan([])).toMatchObject([{ kind: "release" }]);
  });
});

describe("claims of kubevirt/ipam-extensions", () => {
  const theirs = (change: Partial<StoredClaim["metadata"]>): StoredClaim =>
    story.cluster.claims.create({
      metadata: { name: "a.n", namespace, labels: { [marks.vmLabelName]: "a" }, ...change },
      spec: { network: "blue-net", interface: "" },
      status: { ips: ["10.1.0.9/24"] },
    })!;

  it.each([
    ["of a VM that is gone", { finalizers: [marks.upstreamClaimFinalizer], ownerReferences: [reference("vm-gone")] }],
    ["of this VM", { finalizers: [marks.upstreamClaimFinalizer], ownerReferences: [reference("vm-1")] }],
    ["left by an orphan deletion", {}],
  ])("%s: neither changed nor finished nor used, with the remedy", async (_, change) => {
    const claim = theirs(change);
    await story.run("a");
    expect(story.claim("a")!.metadata).toMatchObject({ uid: claim.metadata.uid, ...change });
    expect(story.cluster.holds()).toEqual([]);
    const event = planFamily(gather(story.cluster, "a")).find(({ kind }) => kind === "event");
    expect(event).toMatchObject({ on: "vm", message: expect.stringContaining("holdfast claims takeover") as string });
  });

  it("taken over: ours like any other, and what its status says is held", async () => {
    story.virt.createVm("a", { n: "blue" });
    const claim = theirs({ finalizers: [marks.upstreamClaimFinalizer], ownerReferences: [reference("vm-1")] });
    annotate(claim, { [marks.claimOwnerAnnotation]: "vm-1", [marks.claimNicAnnotation]: "n" });
    await story.rest("a");
    expect(story.addresses("a")).toEqual(["10.1.0.9"]);
    expect(story.cluster.holds()[0]!.note?.identity).toBe(marks.identityOf("vm-1", "n"));
    expect(story.claim("a")!.metadata.finalizers).toEqual([marks.upstreamClaimFinalizer, marks.claimFinalizer]);
  });

  function reference(uid: string) {
    return {
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachine",
      name: "a",
      uid,
      controller: true,
      blockOwnerDeletion: true,
    };
  }
});

describe("whose a claim is", () => {
  it("of a VM of another name: left alone, and its name is no obstacle", async () => {
    await story.run("x");
    const { metadata, spec } = story.claim("x")!;
    story.cluster.claims.create({ spec, metadata: { ...metadata, name: "a.n" } });
    await story.run("a");
    expect(story.state("a")).toBe("BOUND");
    expect(names().filter((name) => name.startsWith("a.n"))).toHaveLength(2);
  });

  it("the owner lives under another name than the label says: not finished", () => {
    const vm = story.virt.createVm("x", { n: "blue" })!;
    const claim = story.byHand("a.n");
    annotate(claim, { [marks.claimOwnerAnnotation]: vm.metadata.uid!, [marks.claimVmAnnotation]: "a" });
    expect(story.planWith("a", (facts) => facts)).toEqual([]);
  });

  it("VM a with network b-c and VM a.b with network c have claims of their own", async () => {
    await story.run("a", { "b-c": "blue" });
    await story.run("a.b", { c: "blue" });
    expect(new Set(names())).toEqual(new Set(["a.b-c", "a.b.c"]));
    expect(story.state("a", "b-c")).toBe("BOUND");
    expect(story.state("a.b", "c")).toBe("BOUND");
  });

  it("a VM's name that fits no label is known by the annotation, also without references", async () => {
    const long = `v${"m".repeat(100)}`;
    await story.run(long);
    const [claim] = [...story.cluster.claims.objects.values()];
    expect(claim!.metadata.labels).not.toHaveProperty([marks.vmLabelName]);
    expect(claim!.metadata.annotations).toMatchObject({ [marks.claimVmAnnotation]: long });
    await story.delete(long, "orphan");
    expect(story.state(long)).toBe("BOUND");
  });

  it("our marks that a hand took off come back", async () => {
    await story.run("a");
    const before = story.claim("a")!.metadata;
    const { annotations, labels, ownerReferences, finalizers, ...bare } = before;
    story.cluster.claims.update(story.claim("a")!, (now) => ({
      ...now,
      metadata: { ...bare, annotations: { [marks.claimOwnerAnnotation]: annotations![marks.claimOwnerAnnotation]! } },
    }));
    await story.rest("a");
    expect(story.claim("a")!.metadata).toMatchObject({ annotations, labels, ownerReferences, finalizers });
  });
});
