// What the rows do not say: what is wanted, MACs, status, old caches.
import { beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../api/claims/claim-marks.ts";
import type { FamilyFacts } from "./facts.ts";
import { planFamily } from "./plan.ts";
import { type ClaimStep, confirmed, isFinal } from "./steps.ts";
import { namespace } from "./testing/cluster.ts";
import { gather, snapshotOf } from "./testing/gather.ts";
import { Story } from "./testing/story.ts";

let story: Story;
beforeEach(() => {
  story = new Story();
});

const names = (): readonly string[] => [...story.cluster.claims.objects.keys()];
describe("what is wanted", () => {
  it("the pod network where the namespace's primary definition allows it; none without", async () => {
    const spec = { networks: [{ name: "default", pod: {} }] };
    story.cluster.vms.create({ metadata: { name: "a", namespace }, spec: { template: { spec } } });
    await story.rest("a");
    expect(names()).toEqual([]);
    story.cluster.primary = { network: "udn", isAllowed: true, isPrimary: true, isOurs: false, problem: "" };
    await story.rest("a");
    expect(story.claim("a", "default")!.spec).toEqual({ network: "udn", interface: "" });
    story.cluster.primary = undefined;
    await story.rest("a");
    expect(names()).toEqual(["a.default"]);
  });

  it("no default network of Multus", async () => {
    const spec = { networks: [{ name: "n", multus: { networkName: "blue", default: true } }] };
    story.cluster.vms.create({ metadata: { name: "a", namespace }, spec: { template: { spec } } });
    await story.rest("a");
    expect(names()).toEqual([]);
  });

  it("only with the label where labels are demanded", async () => {
    story.cluster.gate = { gate: "on", needsLabel: true };
    story.virt.createVm("a", { n: "blue" });
    story.virt.createVm("b", { n: "blue" }, { [marks.persistenceLabelName]: "true" });
    await story.rest("a");
    await story.rest("b");
    expect(names()).toEqual(["b.n"]);
  });

  it("nothing in a namespace that is being deleted", () => {
    story.virt.createVm("a", { n: "blue" });
    expect(story.planWith("a", (facts) => ({ ...facts, isTerminating: true }))).toEqual([]);
  });

  it("a definition that asks for what cannot be is said", () => {
    story.cluster.define("blue", { isAllowed: false, problem: "it needs subnets" });
    story.virt.createVm("a", { n: "blue" });
    expect(story.events("a")).toEqual(["vm NoPersistentAddress"]);
  });

  it("as many as the namespace may have, and the rest is said and tried again", () => {
    story.virt.createVm("a", { n: "blue", m: "green" });
    story.cluster.claimsLeft = 1;
    const steps = planFamily(gather(story.cluster, "a"));
    expect(steps.map(({ kind }) => kind)).toEqual(["create", "event", "again"]);
  });

  it("addresses asked for by number land in the claim; an annotation that cannot be read is said", async () => {
    const nics = { networks: [{ name: "n", multus: { networkName: "blue" } }] };
    const annotated = (text: string) => ({
      metadata: { annotations: { [marks.addressesAnnotation]: text } },
      spec: nics,
    });
    story.cluster.vms.create({
      metadata: { name: "a", namespace },
      spec: { template: annotated('{"n":["10.1.0.7/24"]}') },
    });
    story.cluster.vms.create({ metadata: { name: "b", namespace }, spec: { template: annotated("{n") } });
    await story.rest("a");
    await story.rest("b");
    expect(story.claim("a")!.metadata.annotations).toMatchObject({ [marks.requestedAnnotation]: "10.1.0.7" });
    expect(story.claim("b")).toBeDefined();
    expect(story.events("b")).toEqual(["vm NoPersistentAddress"]);
  });

  it("a request that is withdrawn before it got its address is withdrawn from the claim, and one that cannot be read stays", async () => {
    const nics = { networks: [{ name: "n", multus: { networkName: "blue" } }] };
    const ask = (text?: string) => ({
      template: { spec: nics, ...(text && { metadata: { annotations: { [marks.addressesAnnotation]: text } } }) },
    });
    const change = async (text?: string) => {
      story.cluster.vms.update(story.cluster.vms.get("a")!, (now) => ({ ...now, spec: ask(text) }));
      await story.rest("a");
    };
    const requested = () => story.claim("a")!.metadata.annotations?.[marks.requestedAnnotation];
    story.cluster.vms.create({ metadata: { name: "a", namespace }, spec: ask('{"n":["10.1.0.7"]}') });
    await story.rest("a");
    expect(requested()).toBe("10.1.0.7");
    await change("{n");
    expect(requested()).toBe("10.1.0.7");
    await change();
    expect(requested()).toBeUndefined();
  });
});

describe("MACs", () => {
  const withMac = (name: string, macAddress: string): void => {
    story.cluster.vms.create({
      metadata: { name, namespace },
      spec: {
        template: {
          spec: {
            networks: [{ name: "n", multus: { networkName: "blue" } }],
            domain: { devices: { interfaces: [{ name: "n", macAddress }] } },
          },
        },
      },
    });
  };
  const macs = (name: string): string | undefined => story.claim(name)!.metadata.labels?.[marks.macLabelName];

  it("of the spec, else as the VMI reports it, kept while the VM is stopped", async () => {
    withMac("a", "02:AA:22:33:44:55");
    await story.rest("a");
    expect(macs("a")).toBe("02-aa-22-33-44-55");
    await story.run("b");
    const status = { interfaces: [{ name: "n", mac: "02:00:00:00:00:07" }] };
    story.cluster.vmis.update(story.vmi("b"), (now) => ({ ...now, status: { ...now.status, ...status } }));
    await story.rest("b");
    await story.stop("b");
    expect(macs("b")).toBe("02-00-00-00-00-07");
  });
});

describe("status", () => {
  it("a length that nothing tells stays as it stands, and is not invented", async () => {
    await story.run("a");
    const unknown = (facts: ReturnType<typeof gather>): ReturnType<typeof gather> => ({
      ...facts,
      holds: facts.holds.map(({ hold, namespace: place, networks }) => ({ hold, namespace: place, networks })),
    });
    expect(story.planWith("a", unknown)).toEqual([]);
    const { status: _, ...rest } = story.claim("a")!;
    story.cluster.claims.update(story.claim("a")!, () => rest);
    expect(story.planWith("a", unknown)).toEqual([]);
  });

  describe("that a daemon is about to write", () => {
    type Facts = ReturnType<typeof gather>;
    const changed =
      (agoMs: number | undefined, { isUsed = true, isMarked = false } = {}) =>
      (facts: Facts): Facts => ({
        ...facts,
        holds: facts.holds.map((each) => {
          const { shown: _, ...unmarked } = each.hold.note ?? {};
          const note = { ...unmarked, ...(isMarked && { shown: "true" }) };
          const hold = { ...each.hold, note, users: isUsed ? (each.hold.users ?? []) : [] };
          return { ...each, hold, ...(agoMs !== undefined && { changedMs: facts.nowMs - agoMs }) };
        }),
      });

    const marking = [{ kind: "pass", to: { kind: "claim" }, note: { pool: "blue-net", shown: "true" } }];
    it.each([
      ["a pod came this moment", changed(0), [{ kind: "again", afterMs: 1000 }]],
      ["a while ago", changed(400), [{ kind: "again", afterMs: 600 }]],
      ["so long ago that it was lost: marked first, and shown then", changed(1000), marking],
      ["before the leader began", changed(undefined), marking],
      ["later than now: a clock was set back", changed(-60_000), marking],
      ["no pod is at it", changed(0, { isUsed: false }), marking],
      ["the leader marked it this moment", changed(0, { isMarked: true }), [{ kind: "status" }]],
    ])("%s", async (_, facts, expected) => {
      await story.run("a");
      const { status: _lost, ...rest } = story.claim("a")!;
      story.cluster.claims.update(story.claim("a")!, () => rest);
      expect(planFamily(facts(gather(story.cluster, "a")))).toMatchObject(expected);
    });

    it("nothing is waited for where it says all", async () => {
      await story.run("a");
      expect(planFamily(changed(0)(gather(story.cluster, "a")))).toEqual([]);
    });
  });

  it("what the daemon says about a refused pod stands while the addresses do", async () => {
    await story.run("a");
    const { status } = story.claim("a")!;
    const conditions = [{ ...status!.conditions![0]!, reason: "InUse", message: "a third pod" }];
    story.cluster.claims.update(story.claim("a")!, (now) => ({ ...now, status: { ...status!, conditions } }));
    expect(story.planWith("a", (facts) => facts)).toEqual([]);
  });

  it("back in range: said to be allocated again", async () => {
    await story.run("a");
    const { status } = story.claim("a")!;
    const conditions = [{ ...status!.conditions![0]!, status: "False" as const, reason: "OutOfRange" }];
    story.cluster.claims.update(story.claim("a")!, (now) => ({ ...now, status: { ...status!, conditions } }));
    expect(story.planWith("a", (facts) => facts)).toMatchObject([
      { kind: "status", status: { conditions: [{ status: "True", reason: "SuccessfulAllocation" }] } },
    ]);
  });

  it("of a network whose addresses others give is theirs", async () => {
    story.cluster.define("blue", { isOurs: false });
    story.virt.createVm("a", { n: "blue" });
    await story.rest("a");
    const status = { ips: ["10.1.0.9/24"] };
    story.cluster.claims.update(story.claim("a")!, (now) => ({ ...now, status }));
    await story.rest("a");
    expect(story.claim("a")!.status).toEqual(status);
    expect(story.cluster.holds()).toEqual([]);
    expect(story.state("a")).toBe("RSVD");
  });

  it("addresses that nothing holds are taken, and in a conflict tried again later", async () => {
    story.virt.createVm("a", { n: "blue" });
    await story.rest("a");
    const conditions = [{ type: "IPsAllocated", status: "False" as const, reason: "IPAddressConflict" }];
    const status = { ips: ["10.1.0.9/24", "fd00::9/64", "no address"], conditions };
    story.cluster.claims.update(story.claim("a")!, (now) => ({ ...now, status }));
    expect(planFamily(gather(story.cluster, "a"))).toMatchObject([
      { kind: "take", addresses: ["10.1.0.9", "fd00::9"], identity: `${story.cluster.vms.get("a")!.metadata.uid}/n` },
      { kind: "again" },
    ]);
  });
});

describe("two addresses of one pool for one claim", () => {
  it("the one that nobody was told of is released, the other stays", async () => {
    await story.run("a");
    const [told] = story.addresses("a");
    await story.take("a.n", story.claim("a")!.metadata.uid!, "10.1.0.9");
    await story.stop("a");
    expect(story.addresses("a")).toEqual([told]);
    expect(story.claim("a")!.status?.ips).toEqual([`${told}/24`]);
  });

  it("pods that came at once and joined each other's: the one that the status lacks is released", async () => {
    await story.run("a");
    const [told] = story.addresses("a");
    story.isLed = false;
    await story.take("a.n", story.claim("a")!.metadata.uid!, "10.1.0.9");
    const facts = gather(story.cluster, "a");
    const steps = (atTold: readonly string[], atOther: readonly string[]) => {
      const users = (uids: readonly string[]) => uids.map((uid) => ({ uid, name: uid, node: "n1" }));
      const holds = facts.holds.map((each) => {
        const isTold = String(each.hold.address) === told;
        const note = { pool: "blue-net", identity: `${story.vmUid("a")}/n` };
        return { ...each, hold: { ...each.hold, note, users: users(isTold ? atTold : atOther) } };
      });
      const planned = planFamily({ ...facts, holds, userOf: () => "alive" });
      return planned.flatMap((step) => (step.kind === "release" ? [String(step.hold.hold.address)] : []));
    };
    const pod = story.pods("a")[0]!.metadata.uid!;
    expect(steps([pod, "p"], ["p", pod])).toEqual(["10.1.0.9"]);
    expect(steps([pod, "p"], ["p"])).toEqual(["10.1.0.9"]);
    // This one may have been answered with it.
    expect(steps([pod], ["p"])).toEqual([]);
    expect(steps([pod, ""], [""])).toEqual([]);
  });

  it("two pods that are the first at once: the status never says both, and says what is told first", async () => {
    await story.run("a");
    const [used] = story.addresses("a");
    story.isLed = false;
    await story.take("a.n", story.claim("a")!.metadata.uid!, "10.1.0.9");
    const both = (facts: FamilyFacts): FamilyFacts => ({
      ...facts,
      holds: facts.holds.map((each) => ({
        ...each,
        hold: { ...each.hold, users: [{ uid: `p-${each.hold.address}`, name: "p", node: "n1" }] },
      })),
      userOf: () => "alive",
    });
    const said = (ips: readonly string[]) => {
      const { status: _, ...claim } = story.claim("a")!;
      story.cluster.claims.update(claim, (now) => ({ ...now, status: { ips: [...ips] } }));
      return planFamily(both(gather(story.cluster, "a"))).find(({ kind }) => kind === "status");
    };
    expect(said([])).toMatchObject({ status: { ips: [`${used}/24`] } });
    expect(said(["10.1.0.9/24"])).toMatchObject({ status: { ips: ["10.1.0.9/24"] } });
  });

  it("the one in the status stays, though only at the other a pod is listed: its end was seen here first", async () => {
    await story.run("a");
    const [told] = story.addresses("a");
    story.isLed = false;
    await story.take("a.n", story.claim("a")!.metadata.uid!, "10.1.0.9");
    const facts = gather(story.cluster, "a");
    const listed = (address: string) => (address === told ? [] : [{ uid: "p", name: "p", node: "n1" }]);
    const holds = facts.holds.map((each) => ({
      ...each,
      hold: { ...each.hold, users: listed(each.hold.address.toString()) },
    }));
    const steps = planFamily({ ...facts, pods: [], holds, userOf: () => "alive" });
    expect(steps.filter(({ kind }) => kind === "release")).toEqual([]);
  });

  /** Two pods were first at once: each daemon took one and wrote its own status. The second one's pod is gone. */
  const twice = async (): Promise<string> => {
    await story.run("a");
    const [used] = story.addresses("a");
    story.isLed = false;
    await story.take("a.n", story.claim("a")!.metadata.uid!, "10.1.0.9");
    const { status, ...claim } = story.claim("a")!;
    const ips = ["10.1.0.9/24", `${used}/24`];
    story.cluster.claims.update(claim, (now) => ({ ...now, status: { ...status, ips } }));
    story.isLed = true;
    return used!;
  };

  it("where both are in the status, that of the pod that lives stays, and the VM has it after a restart", async () => {
    const used = await twice();
    await story.rest("a");
    expect(story.addresses("a")).toEqual([used]);
    expect(story.claim("a")!.status?.ips).toEqual([`${used}/24`]);
    await story.stop("a");
    await story.start("a");
    expect(story.addresses("a")).toEqual([used]);
  });

  it("both stay while a pod lives that is in no list: it may have either", async () => {
    const used = await twice();
    const other = story.virt.launch(story.vmi("a"))!;
    const attached = { ...other, node: "n2", status: other.listed };
    story.cluster.pods.update(other, () => attached);
    expect(story.planWith("a", (facts) => facts).filter(({ kind }) => kind === "release")).toEqual([]);
    expect([...story.addresses("a")].sort()).toEqual(["10.1.0.9", used].sort());
  });
});

describe("old caches", () => {
  const fresh = (): readonly ClaimStep[] => planFamily(gather(story.cluster, "a"));

  it("a VM that the cache has not seen yet: its claim is not deleted", async () => {
    const before = snapshotOf(story.cluster);
    await story.run("a");
    await story.stop("a");
    const old = { ...snapshotOf(story.cluster), vms: before.vms };
    const steps = planFamily(gather(story.cluster, "a", old)).filter(isFinal);
    expect(steps).toMatchObject([{ kind: "delete" }]);
    expect(confirmed(steps[0]!, fresh())).toBeUndefined();
  });

  it("a claim that the cache has not seen yet: its address is not freed", async () => {
    const before = snapshotOf(story.cluster);
    await story.run("a");
    await story.stop("a");
    const old = { ...snapshotOf(story.cluster), vms: before.vms, claims: before.claims };
    const steps = planFamily(gather(story.cluster, "a", old)).filter(isFinal);
    expect(steps).toMatchObject([{ kind: "release" }]);
    expect(confirmed(steps[0]!, fresh())).toBeUndefined();
  });

  it("a pod that the cache has not seen yet: it stays among the users", async () => {
    const before = snapshotOf(story.cluster);
    await story.run("a");
    const old = { ...snapshotOf(story.cluster), pods: before.pods };
    const steps = planFamily(gather(story.cluster, "a", old)).filter(isFinal);
    expect(steps).toMatchObject([{ kind: "users", users: [] }]);
    expect(confirmed(steps[0]!, fresh())).toBeUndefined();
  });

  it("a claim that has followed its guest to this VM, which the cache has not seen yet: no other is made", async () => {
    await story.run("a");
    await story.stop("a");
    const claims = [...story.cluster.claims.objects.values()];
    const { metadata, spec } = claims[0]!;
    const nic = metadata.annotations![marks.claimNicAnnotation]!;
    const swapped = { ...claims[0]!, metadata: { ...metadata, name: marks.swappedClaimName("a", nic, spec.network) } };
    const renamed = new Map([[swapped.metadata.name, swapped]]);
    const before = {
      ...swapped,
      metadata: {
        ...swapped.metadata,
        annotations: { ...metadata.annotations, [marks.claimOwnerAnnotation]: "the-vmi" },
        ownerReferences: [],
      },
    };
    const now = { ...snapshotOf(story.cluster), claims: renamed };
    const old = { ...now, claims: new Map([[before.metadata.name, before]]) };
    const steps = planFamily(gather(story.cluster, "a", old)).filter(({ kind }) => kind === "create");
    expect(steps).toMatchObject([{ claim: { metadata: { name: `a.${nic}` } } }]);
    expect(steps.every(isFinal)).toBe(true);
    expect(confirmed(steps[0]!, planFamily(gather(story.cluster, "a", now)))).toBeUndefined();
  });

  it("what is still so is confirmed, with the versions of now", async () => {
    await story.run("a");
    story.isLed = false;
    await story.stop("a");
    const step = fresh().find(({ kind }) => kind === "users")!;
    await story.cluster.ledger.amend({ ...hold(), note: { pool: "blue-net", identity: "vm-1/n", why: "changed" } });
    expect(confirmed(step, fresh())).toMatchObject({
      kind: "users",
      hold: { hold: { version: story.cluster.holds()[0]!.version } },
    });
  });

  const hold = () => {
    const { domain, address, version, owner } = story.cluster.holds()[0]!;
    return { domain, address, version, owner: `claim:${owner.uid}:` as never };
  };
});
