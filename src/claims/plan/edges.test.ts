// Moments between two writes, where one fact alone decides: each is made by hand.
import { beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../api/claims/claim-marks.ts";
import type { FamilyFacts } from "./facts.ts";
import { planFamily } from "./plan.ts";
import { restoredGraceMs } from "./retention.ts";
import { namespace } from "./testing/cluster.ts";
import { gather } from "./testing/gather.ts";
import type { ModelVmi } from "./testing/objects.ts";
import { Story } from "./testing/story.ts";
import { specOf } from "./testing/virt.ts";

let story: Story;
beforeEach(() => {
  story = new Story();
});

const plan = (name = "a", change: (facts: FamilyFacts) => FamilyFacts = (facts) => facts) =>
  story.planWith(name, change);
/** A VMI that nothing ties to a VM but its name. */
const bareInstance = (): ModelVmi =>
  story.cluster.vmis.create({ metadata: { name: "a", namespace, finalizers: ["virt"] }, spec: specOf({ n: "blue" }) })!;
const lose = async (name = "a"): Promise<void> => {
  const claim = story.claim(name)!;
  story.cluster.claims.delete(claim);
  story.cluster.forceFinalizers(claim, marks.claimFinalizer);
};

describe("whose it is, in between", () => {
  it("a VM is being deleted with orphans and its VMI has lost the reference: the claim stays", async () => {
    await story.run("a");
    await story.stop("a");
    bareInstance();
    story.cluster.vms.delete(story.cluster.vms.get("a")!, "orphan");
    expect(plan()).toEqual([]);
  });

  it("the VMI that is recorded on the claim is enough to follow it", async () => {
    await story.run("a");
    await story.stop("a");
    const vmi = bareInstance();
    const claim = story.claim("a")!;
    const annotations = { ...claim.metadata.annotations, [marks.claimInstanceAnnotation]: vmi.metadata.uid! };
    story.cluster.claims.update(claim, (now) => ({ ...now, metadata: { ...now.metadata, annotations } }));
    story.cluster.vms.objects.delete("a");
    expect(plan().map(({ kind }) => kind)).toEqual(["mark", "pass"]);
  });

  it("a VM that lives keeps its claim, also where its VMI lost the reference for a moment", async () => {
    await story.run("a");
    story.cluster.vmis.update(story.vmi("a"), (now) => ({
      ...now,
      metadata: { ...now.metadata, ownerReferences: [] },
    }));
    expect(plan()).toEqual([]);
  });

  it("a hold whose owner lives under another name is that family's", async () => {
    await story.run("x");
    await story.stop("x");
    await lose("x");
    const hold = story.cluster.holds()[0]!;
    const elsewhere: FamilyFacts["holds"] = [{ hold, namespace: "kube-system", networks: ["blue-net"] }];
    expect(plan("a", (facts) => ({ ...facts, holds: elsewhere }))).toEqual([]);
    expect(plan("a", (facts) => ({ ...facts, holds: elsewhere, lives: () => false }))).toMatchObject([
      { kind: "release" },
    ]);
  });

  it("nothing is made for a NIC whose claim is about to follow a VMI, whatever its name", async () => {
    const vmi = bareInstance();
    const name = marks.swappedClaimName("a", "n", "blue-net");
    const annotations = { [marks.claimOwnerAnnotation]: vmi.metadata.uid!, [marks.claimNicAnnotation]: "n" };
    const metadata = { name, namespace, annotations: { ...annotations, [marks.claimVmAnnotation]: "a" } };
    story.cluster.claims.create({ metadata, spec: { network: "blue-net", interface: "" } });
    story.virt.createVm("a", { n: "blue" });
    expect(plan().filter(({ kind }) => kind === "create")).toEqual([]);
  });
});

describe("an address whose claim is gone stays", () => {
  it("while a pod has the NIC that is in no list", async () => {
    await story.run("a");
    const pods = story.pods("a");
    await lose();
    story.cluster.vms.objects.delete("a");
    story.cluster.vmis.objects.delete("a");
    const unlisted = (facts: FamilyFacts): FamilyFacts => ({
      ...facts,
      holds: facts.holds.map((each) => ({ ...each, hold: { ...each.hold, users: [] } })),
    });
    expect(pods).toHaveLength(1);
    expect(plan("a", unlisted)).toEqual([]);
    story.virt.finish(pods[0]!);
    expect(plan("a", unlisted)).toMatchObject([{ kind: "release" }]);
  });

  it("while the VMI of a VM that is being deleted is there", async () => {
    await story.run("a");
    await story.stop("a");
    story.virt.running.add("a");
    story.virt.step("a");
    await lose();
    story.cluster.vms.delete(story.cluster.vms.get("a")!);
    expect(plan()).toEqual([]);
    story.cluster.vmis.objects.delete("a");
    expect(plan()).toMatchObject([{ kind: "release" }]);
  });

  it.each([
    ["unknown", []],
    ["off", ["release"]],
  ] as const)("while the gate is not known (%s)", async (gate, expected) => {
    await story.run("a");
    await story.stop("a");
    await lose();
    story.cluster.gate = { gate, needsLabel: false };
    expect(plan().map(({ kind }) => kind)).toEqual(expected);
  });

  it("and is not taken a second time for the claim that names it", async () => {
    await story.run("a");
    await story.stop("a");
    const status = story.claim("a")!.status!;
    await lose();
    story.cluster.claims.create({
      metadata: {
        name: "a.n",
        namespace,
        annotations: { [marks.claimOwnerAnnotation]: story.vmUid("a"), [marks.claimNicAnnotation]: "n" },
      },
      spec: { network: "blue-net", interface: "" },
      status,
    });
    expect(plan().map(({ kind }) => kind)).toEqual(["mark", "pass"]);
  });
});

describe("unplugging in place", () => {
  const absent = async (): Promise<void> => {
    await story.run("a", { n: "blue", m: "green" });
    const spec = specOf({ n: "blue", m: "green" }, ["n"]);
    story.cluster.vms.update(story.cluster.vms.get("a")!, (now) => ({ ...now, spec: { template: { spec } } }));
    story.cluster.vmis.update(story.vmi("a"), (now) => ({ ...now, spec }));
    const left = story.pods("a")[0]!.listed.filter(({ nic }) => nic !== "n");
    story.cluster.pods.update(story.pods("a")[0]!, (now) => ({ ...now, listed: left, status: left }));
  };

  it("the VMI still lists it as absent, and nothing has it: it goes", async () => {
    await absent();
    expect(plan().map(({ kind }) => kind)).toEqual(["delete", "users"]);
  });

  it("the VMI's status still shows it: it stays", async () => {
    await absent();
    story.cluster.vmis.update(story.vmi("a"), (now) => ({
      ...now,
      status: { ...now.status, interfaces: [{ name: "n" }] },
    }));
    expect(plan()).toEqual([]);
  });

  it("the runtime has not reported yet, and an ADD may be under way: it stays", async () => {
    await absent();
    story.cluster.pods.update(story.pods("a")[0]!, (now) => ({ ...now, hasStatus: false }));
    expect(plan()).toEqual([]);
  });
});

it("no finalizer is asked for on a claim that is being deleted: the API server would refuse the whole patch", async () => {
  await story.run("a");
  const claim = story.claim("a")!;
  story.cluster.claims.update(claim, (now) => ({
    ...now,
    metadata: { ...now.metadata, finalizers: ["example.org/other"] },
  }));
  story.cluster.claims.delete(story.claim("a")!);
  expect(plan()).toEqual([]);
});

describe("where the server does not serve VMs", () => {
  const blind = (facts: FamilyFacts): FamilyFacts => ({ ...facts, areOwnersUnknown: true });
  const goneOwner = async (): Promise<void> => {
    await story.run("a");
    await story.stop("a");
    story.cluster.vms.objects.delete("a");
  };

  it("no claim ends and no address is freed for an owner that is not seen", async () => {
    await goneOwner();
    expect(plan()).toMatchObject([{ kind: "delete" }]);
    expect(plan("a", blind)).toEqual([]);
    await lose();
    expect(plan()).toMatchObject([{ kind: "release" }]);
    expect(plan("a", blind)).toEqual([]);
  });

  it("what a restored claim shows is held before its owner can be seen: nobody else gets it", async () => {
    story.restored("a", "10.1.0.9", "of-another-life");
    const take = { kind: "take", addresses: ["10.1.0.9"] };
    expect(plan("a", blind)).toMatchObject([take]);
    await story.take("a.n", story.claim("a")!.metadata.uid!, "10.1.0.9");
    expect(plan("a", blind).filter(({ kind }) => kind !== "status")).toEqual([]);
  });

  it("when it can be seen, there is time to adopt what a restore brought back long before", async () => {
    const claim = story.restored("a", "10.1.0.9", "of-another-life");
    await story.take("a.n", claim.metadata.uid!, "10.1.0.9");
    story.cluster.nowMs += 2 * restoredGraceMs;
    const kinds = (facts: Partial<FamilyFacts>) => plan("a", (now) => ({ ...now, ...facts })).map(({ kind }) => kind);
    expect(kinds({})).toContain("delete");
    expect(kinds({ ownersSinceMs: story.cluster.nowMs - 1 })).not.toContain("delete");
    expect(kinds({ ownersSinceMs: story.cluster.nowMs - restoredGraceMs })).toContain("delete");
  });

  it("a claim that is being deleted says why it stays; in a namespace that goes it goes", async () => {
    await goneOwner();
    story.cluster.claims.delete(story.claim("a")!);
    const steps = planFamily(blind(gather(story.cluster, "a")));
    expect(steps).toMatchObject([{ kind: "event", on: "claim", reason: "OwnerUnknown" }]);
    expect(plan("a", (facts) => ({ ...blind(facts), isTerminating: true }))).toMatchObject([
      { kind: "drop-finalizer" },
    ]);
  });

  it("a claim made by hand is used and freed as ever", async () => {
    const claim = story.byHand("stake");
    await story.take("stake", claim.metadata.uid!, "10.1.0.9");
    story.cluster.claims.delete(claim);
    expect(plan("stake", blind)).toMatchObject([{ kind: "release" }]);
  });
});
