// Which claims and holds of an earlier life a VM may adopt: a table of what may be there after a restore.
import { describe, expect, it, test } from "vitest";

import { adoptedFromAnnotation, claimFinalizer, identityOf } from "../../api/claims/claim-marks.ts";
import { type AdoptionRequest, planAdoption } from "./adopt.ts";
import type { ClaimsError, MoveDecision } from "./move.ts";
import type { SnapshotIndex } from "./snapshot.ts";
import { claim, held, heldFor, instance, launcher, machine, scene, type SceneParts, user } from "./testing/snapshot.ts";

const old = "vm-1";
const vm = machine("vm-2");
const oldHold = heldFor("10.0.0.7", "claim-1", { note: { identity: identityOf(old, "blue") } });
const request: AdoptionRequest = { namespace: "shop", name: "db", from: old };

const plan = (books: SnapshotIndex, more: Partial<AdoptionRequest> = {}) =>
  planAdoption(books, { ...request, ...more });

/** One line for a verdict: what happens to the claim, and to each address. */
function told(verdict: MoveDecision | undefined): string {
  if (verdict === undefined) return "nothing";
  if (verdict.kind !== "move") return verdict.kind === "done" ? `done ${verdict.words}` : `refused ${verdict.why}`;
  const { claim: change, pass, take } = verdict.move;
  const subject = change.kind === "create" || change.kind === "replace" ? change.object : change.claim;
  return [
    `${change.kind} ${subject.metadata.name}${change.kind === "mark" ? ` ${subject.metadata.uid}` : ""}`,
    ...pass.map(({ held: { hold } }) => `pass ${hold.address}`),
    ...take.map(({ address }) => `take ${address}`),
  ].join(", ");
}

describe("adopt", () => {
  test.each<[string, SceneParts, string]>([
    ["the claim is gone and its hold stands", { held: [oldHold] }, "create db.blue, pass 10.0.0.7"],
    [
      "the claim was restored too, under another UID, and says whose it was",
      { held: [oldHold], claims: [claim({ uid: "claim-9", owner: old })] },
      "mark db.blue claim-9, pass 10.0.0.7",
    ],
    [
      "the leader made a claim for the VM already",
      { held: [oldHold], claims: [claim({ uid: "claim-2", owner: "vm-2" })] },
      "mark db.blue claim-2, pass 10.0.0.7",
    ],
    [
      "the claim was never deleted, only its owner is another now",
      { held: [heldFor("10.0.0.7", "claim-1")], claims: [claim({ uid: "claim-1", owner: old })] },
      "mark db.blue claim-1, pass 10.0.0.7",
    ],
    [
      "the claim is being deleted and has the name",
      {
        held: [oldHold],
        claims: [claim({ uid: "claim-1", owner: old, metadata: { deletionTimestamp: "2026-11-15T11:00:00Z" } })],
      },
      "replace db.blue, pass 10.0.0.7",
    ],
    [
      "the hold is gone, and the restored claim shows the address",
      { claims: [claim({ uid: "claim-9", owner: old, ips: ["10.0.0.7/24"] })] },
      "mark db.blue claim-9, take 10.0.0.7",
    ],
    [
      "another IPAM gives the addresses: only the claim changes",
      {
        machines: [machine("vm-2", ["ovn"])],
        claims: [claim({ uid: "c", owner: old, nic: "ovn", ips: ["10.9.0.4/24"] })],
      },
      "mark db.ovn c",
    ],
    [
      "the address was asked for by number, and is in no range",
      { held: [heldFor("10.200.0.7", "claim-1", { note: { identity: identityOf(old, "blue") } })] },
      "create db.blue, pass 10.200.0.7",
    ],
    [
      "it was adopted half before: the hold is passed, the claim not marked",
      {
        held: [heldFor("10.0.0.7", "claim-9", { note: { identity: identityOf("vm-2", "blue") } })],
        claims: [claim({ uid: "claim-9", owner: old })],
      },
      "mark db.blue claim-9, pass 10.0.0.7",
    ],
  ])("%s", (_, parts, expected) => {
    expect(told(plan(scene({ machines: [vm], ...parts }))[0])).toBe(expected);
  });

  test.each<[string, SceneParts, string]>([
    [
      "the address is a third VM's by now",
      { held: [oldHold], claims: [claim({ uid: "claim-1", owner: "vm-3", name: "web.blue" })] },
      "whose owner is vm-3 and not vm-1",
    ],
    [
      "a pod of another VM has the address of the status",
      {
        held: [held("10.0.0.7", { kind: "pod", uid: "p", namespace: "shop", name: "web-0", interface: "net1" })],
        claims: [claim({ uid: "claim-9", owner: old, ips: ["10.0.0.7/24"] })],
      },
      "10.0.0.7 is held for pod shop/web-0 (net1)",
    ],
    [
      "the VM has another address by now",
      { held: [oldHold, heldFor("10.0.0.9", "claim-2")], claims: [claim({ uid: "claim-2", owner: "vm-2" })] },
      "has 10.0.0.9 on blue by now",
    ],
    ["the VM has no such network", { machines: [machine("vm-2", ["dual"])], held: [oldHold] }, "has no network blue"],
    [
      "the claim is of another network than the NIC is on",
      { claims: [claim({ uid: "claim-9", owner: old, network: "red-net" })] },
      "is of network red-net",
    ],
    ["the definition is gone", { held: [oldHold], definitions: [] }, "no NetworkAttachmentDefinition shop/blue"],
    [
      "another finalizer keeps the claim that has the name",
      {
        held: [oldHold],
        claims: [
          claim({
            uid: "claim-1",
            owner: old,
            metadata: { deletionTimestamp: "x", finalizers: [claimFinalizer, "example.com/other"] },
          }),
        ],
      },
      "waits for example.com/other",
    ],
    [
      "a claim made by hand has the name",
      { held: [oldHold], claims: [claim({ uid: "claim-5", owner: "" })] },
      "IPAMClaim shop/db.blue has the name",
    ],
    [
      "the range was cut, and the address was the pool's",
      {
        held: [
          heldFor("10.200.0.7", "claim-1", { note: { identity: identityOf(old, "blue"), pool: "kube-system/x" } }),
        ],
      },
      "10.200.0.7 is in no range of shop/blue",
    ],
    [
      "the network hands out of another domain now",
      { held: [{ ...oldHold, hold: { ...oldHold.hold, domain: "network:red" } }] },
      "it is another network's",
    ],
  ])("is refused where %s", (_, parts, words) => {
    const [verdict] = plan(scene({ machines: [vm], ...parts }));
    expect(verdict).toMatchObject({ kind: "refused", why: expect.stringContaining(words) });
  });

  it("a pod of the old guest that runs keeps it; one that has ended does not; the VM's own pod is none of others", () => {
    const gone = instance("vmi-1", machine(old));
    const [running, ended] = [launcher("p1", gone, ["blue"]), launcher("p1", gone, ["blue"], "Succeeded")];
    const used = heldFor("10.0.0.7", "claim-1", { note: oldHold.hold.note!, users: [user(running)] });
    const at = (parts: SceneParts) => plan(scene({ machines: [vm], held: [used], ...parts }))[0]?.kind;
    expect(at({ pods: [running] })).toBe("refused");
    expect(at({ pods: [ended] })).toBe("move");
    expect(at({})).toBe("move");
    const own = instance("vmi-1", vm);
    expect(at({ pods: [launcher("p1", own, ["blue"])], instances: [own] })).toBe("move");
  });

  it("both addresses of a dual-stack NIC move, or none", () => {
    const note = { identity: identityOf(old, "dual") };
    const [four, six] = [heldFor("10.1.0.7", "c1", { note }), heldFor("fd00::7", "c1", { note })];
    const parts = { machines: [machine("vm-2", ["dual"])] };
    expect(told(plan(scene({ ...parts, held: [four, six] }))[0])).toBe("create db.dual, pass 10.1.0.7, pass fd00::7");
    const elsewhere = { ...six, hold: { ...six.hold, domain: "network:red" } };
    expect(plan(scene({ ...parts, held: [four, elsewhere] }))[0]?.kind).toBe("refused");
  });

  it("one NIC is judged without the other, and can be asked for alone", () => {
    const second = heldFor("10.1.0.7", "c2", { note: { identity: identityOf(old, "dual") } });
    const books = scene({ machines: [machine("vm-2", ["blue"])], held: [oldHold, second] });
    expect(plan(books).map(({ what, kind }) => [what, kind])).toEqual([
      ["blue", "move"],
      ["dual", "refused"],
    ]);
    expect(plan(books, { nic: "blue" })).toHaveLength(1);
  });

  it("cut short after its first write, it goes on; passed on by the leader meanwhile, it is done", () => {
    const note = { identity: identityOf("vm-2", "blue"), why: "adopted from the owner vm-1" };
    const begun = heldFor("10.0.0.7", "claim-1", { note });
    expect(told(plan(scene({ machines: [vm], held: [begun] }))[0])).toBe("create db.blue, pass 10.0.0.7");
    const made = claim({ uid: "claim-2", owner: "vm-2" });
    expect(told(plan(scene({ machines: [vm], held: [begun], claims: [made] }))[0])).toBe(
      "mark db.blue claim-2, pass 10.0.0.7",
    );
    const passed = heldFor("10.0.0.7", "claim-2", { note });
    expect(told(plan(scene({ machines: [vm], held: [passed], claims: [made] }))[0])).toBe(
      "done it was adopted from vm-1 before",
    );
  });

  it("done before, it says so", () => {
    const done = claim({ uid: "claim-9", owner: "vm-2" });
    done.metadata.annotations![adoptedFromAnnotation] = old;
    expect(told(plan(scene({ machines: [vm], claims: [done] }))[0])).toBe("done it was adopted from vm-1 before");
  });

  it("the marks that it writes name the new owner, drop what was of the old VMI, and keep others' finalizers", () => {
    const restored = claim({
      uid: "claim-9",
      owner: old,
      metadata: { finalizers: ["kubevirt.io/persistent-ipam", "a/b"] },
    });
    const [verdict] = plan(scene({ machines: [vm], held: [oldHold], claims: [restored] }));
    const change = verdict?.kind === "move" ? verdict.move.claim : undefined;
    expect(change).toMatchObject({
      metadata: {
        annotations: {
          "holdfast.io/claim-owner": "vm-2",
          "holdfast.io/claim-nic": "blue",
          "holdfast.io/claim-instance": null,
          "holdfast.io/adopted-from": old,
        },
        labels: { "holdfast.io/managed": "true" },
        finalizers: ["holdfast.io/persistent-ip", "a/b"],
        ownerReferences: [
          { kind: "VirtualMachine", name: "db", uid: "vm-2", controller: true, blockOwnerDeletion: true },
        ],
      },
    });
  });

  test.each<[string, SceneParts, Partial<AdoptionRequest>, ClaimsError["code"]]>([
    ["there is no such VM", { held: [oldHold] }, {}, "no-machine"],
    ["the VM is being deleted", { machines: [deleting(vm)], held: [oldHold] }, {}, "no-machine"],
    ["the UID is the VM's own", { machines: [vm], held: [oldHold] }, { from: "vm-2" }, "owner-alive"],
    [
      "the old owner lives, under any name",
      { machines: [vm, machine(old, ["blue"], "web")], held: [oldHold] },
      {},
      "owner-alive",
    ],
    [
      "the old owner is being deleted",
      { machines: [vm, deleting(machine(old, [], "web"))], held: [oldHold] },
      {},
      "owner-alive",
    ],
    [
      "the old owner is a VMI that runs",
      { machines: [vm], instances: [instance(old, machine("x", [], "web"))] },
      {},
      "owner-alive",
    ],
    ["nothing records the UID", { machines: [vm], held: [oldHold] }, { from: "vm-0" }, "no-proof"],
    ["nothing of that network does", { machines: [vm], held: [oldHold] }, { nic: "dual" }, "no-proof"],
  ])("nothing is done where %s", (_, parts, more, code) => {
    expect(() => plan(scene(parts), more)).toThrow(expect.objectContaining({ name: "ClaimsError", code }));
  });
});

function deleting<T extends ReturnType<typeof machine>>(object: T): T {
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-11-15T11:00:00Z" } };
}
