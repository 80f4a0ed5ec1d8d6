// `holdfast claims`: a row for every claim in every state, and one claim whole.
import { describe, expect, it, test } from "vitest";

import { identityOf } from "../../api/claims/claim-marks.ts";
import {
  claim,
  heldFor,
  instance,
  launcher,
  machine,
  nowMs,
  scene,
  type SceneParts,
  user,
} from "../../claims/moves/testing/snapshot.ts";
import { claimDetails, detailLines } from "./detail.ts";
import { claimLines, claimRows } from "./table.ts";

const vm = machine("vm-1");
const vmi = instance("vmi-1", vm);
const [pod, target] = [launcher("p1", vmi, ["blue"]), launcher("p2", vmi, ["blue"])];
const own = claim({ uid: "c1" });
const note = { identity: identityOf("vm-1", "blue") };
const heldBy = (...users: (typeof pod)[]) => heldFor("10.0.0.7", "c1", { note, users: users.map(user) });

describe("holdfast claims", () => {
  test.each<[string, SceneParts, string]>([
    ["pending", { claims: [own] }, "db.blue db pending"],
    [
      "bound",
      { claims: [own], held: [heldBy(pod)], instances: [vmi], pods: [pod] },
      "db.blue db bound 10.0.0.7/24 virt-launcher-db-p1 n1",
    ],
    [
      "migrating",
      { claims: [own], held: [heldBy(pod, target)], instances: [vmi], pods: [pod, target] },
      "db.blue db migrating 10.0.0.7/24 virt-launcher-db-p1,virt-launcher-db-p2 n1",
    ],
    ["reserved", { claims: [own], held: [heldBy(pod)] }, "db.blue db reserved 10.0.0.7/24"],
    [
      "detaching",
      {
        machines: [machine("vm-1", [])],
        claims: [own],
        held: [heldBy(pod)],
        instances: [instance("vmi-1", machine("vm-1", []))],
        pods: [pod],
      },
      "db.blue db detaching 10.0.0.7/24 virt-launcher-db-p1 n1",
    ],
    [
      "terminating",
      { claims: [claim({ uid: "c1", metadata: { deletionTimestamp: "x" } })], held: [heldBy()] },
      "db.blue db terminating 10.0.0.7/24",
    ],
    ["foreign: of an earlier VM", { machines: [machine("vm-2")], claims: [own] }, "db.blue db foreign"],
    [
      "foreign: of ipam-extensions",
      {
        claims: [
          claim({
            uid: "c1",
            ips: ["10.0.0.9/24"],
            metadata: {
              annotations: {},
              labels: {},
              finalizers: ["kubevirt.io/persistent-ipam"],
              ownerReferences: [reference()],
            },
          }),
        ],
      },
      "db.blue db foreign 10.0.0.9/24",
    ],
    [
      "quarantine",
      { held: [heldFor("10.0.0.7", "c0", { coolsUntilMs: nowMs + 1000 })] },
      "db.blue db quarantine 10.0.0.7",
    ],
    [
      "quarantine, of one made by hand",
      { held: [heldFor("10.0.0.7", "c0", { name: "stake", coolsUntilMs: nowMs + 1000 })] },
      "stake  quarantine 10.0.0.7",
    ],
    ["nothing once it has cooled", { held: [heldFor("10.0.0.7", "c0", { coolsUntilMs: nowMs })] }, ""],
    [
      "terminating: the claim was taken away under a pod",
      { held: [heldBy(pod)], instances: [vmi], pods: [pod] },
      "db.blue db terminating 10.0.0.7 virt-launcher-db-p1 n1",
    ],
    ["made by hand", { claims: [claim({ uid: "c1", owner: "", name: "stake" })] }, "stake  pending"],
  ])("%s", (_, parts, expected) => {
    const rows = claimRows(scene({ machines: [vm], ...parts })).map(
      ({ claim: name, vm: machineName, state, ips, pods, nodes }) =>
        [name, machineName, state, ips.join(","), pods.join(","), nodes.join(",")].join(" ").trimEnd(),
    );
    expect(rows).toEqual(expected === "" ? [] : [expected]);
  });

  it("a claim is shown once, although its name is another VM's too", () => {
    const web = machine("vm-2", ["blue"], "web");
    const moved = claim({ uid: "c1", name: "web.blue", metadata: { ownerReferences: [reference()] } });
    expect(
      claimRows(scene({ machines: [vm, web], claims: [moved] })).map(({ claim: name, vm: owner }) => [name, owner]),
    ).toEqual([["web.blue", "db"]]);
  });

  it("is cut down to a namespace, a VM or a claim", () => {
    const books = scene({
      machines: [vm],
      claims: [own, claim({ uid: "c2", nic: "dual" }), claim({ uid: "c3", owner: "", name: "stake" })],
    });
    const names = (filter: object) => claimRows(books, filter).map(({ claim: name }) => name);
    expect(names({})).toEqual(["db.blue", "db.dual", "stake"]);
    expect(names({ name: "db" })).toEqual(["db.blue", "db.dual"]);
    expect(names({ name: "db.dual" })).toEqual(["db.dual"]);
    expect(names({ namespace: "other" })).toEqual([]);
  });

  it("prints columns, and a dash for what is not there", () => {
    const created = new Date(nowMs - 90_000).toISOString();
    const books = scene({ machines: [vm], claims: [claim({ uid: "c1", metadata: { creationTimestamp: created } })] });
    expect(claimLines(claimRows(books))).toEqual([
      "NAMESPACE  CLAIM    VM  NETWORK   IPS  STATE    PODS  NODES  AGE",
      "shop       db.blue  db  blue-net  -    pending  -     -      90s",
    ]);
    expect(claimLines([])).toEqual(["There are no claims."]);
  });
});

describe("one claim", () => {
  const detail = (parts: SceneParts) =>
    claimDetails(scene({ machines: [vm], claims: [own], ...parts }), { namespace: "shop", name: "db.blue" })[0];

  it("says whose it is, what holds it, who uses it, what keeps it", () => {
    const ended = launcher("p0", vmi, ["blue"], "Succeeded");
    const parts = { held: [heldBy(ended, pod)], instances: [vmi], pods: [ended, pod] };
    expect(detailLines(detail(parts)!)).toEqual([
      "shop/db.blue: bound",
      "  network     blue-net, for the VM's network blue",
      "  addresses   10.0.0.7/24",
      "  owner       VirtualMachine shop/db (vm-1)",
      "  claim UID   c1",
      "  identity    vm-1/blue",
      "  held by     10.0.0.7: OverlappingRangeIPReservation kube-system/10.0.0.7",
      "  pods        virt-launcher-db-p1",
      "  nodes       n1",
      "  users       virt-launcher-db-p0 has ended (node n1 ready, p0)",
      "              virt-launcher-db-p1 lives (node n1 ready, p1)",
      "  finalizers  holdfast.io/persistent-ip (ours)",
    ]);
  });

  test.each<[string, SceneParts, string]>([
    ["pending", {}, "the first pod that asks for its address"],
    [
      "pending for a reason",
      { claims: [{ ...own, status: { ips: [], conditions: [condition("every address is taken")] } }] },
      "every address is taken",
    ],
    ["reserved", { held: [heldBy()] }, ""],
    ["foreign", { machines: [machine("vm-2")] }, "its end by the controller, or `holdfast adopt shop/db --from vm-1`"],
    [
      "terminating under a pod",
      { claims: [ending()], held: [heldBy(pod)], instances: [vmi], pods: [pod] },
      "virt-launcher-db-p1 to end",
    ],
    ["terminating under a VMI", { claims: [ending()], held: [heldBy()], instances: [vmi] }, "VMI shop/db to be gone"],
    [
      "terminating under a stopped VM",
      { claims: [ending()], held: [heldBy()] },
      "its owner: VirtualMachine vm-1 lives",
    ],
    ["terminating at last", { machines: [], claims: [ending()] }, "the controller, which takes our finalizer away"],
    ["kept by others", { machines: [], claims: [ending(["a/b"])] }, "a/b, which others must take away"],
  ])("that is %s waits for it", (_, parts, words) => {
    const { waitsFor } = detail(parts)!;
    if (words === "") expect(waitsFor).toBe("");
    else expect(waitsFor).toContain(words);
  });

  it("whose finalizers are whose", () => {
    const all = ["holdfast.io/persistent-ip", "kubevirt.io/persistent-ipam", "foregroundDeletion", "a/b"];
    expect(detail({ claims: [claim({ uid: "c1", metadata: { finalizers: all } })] })?.finalizers).toEqual([
      "holdfast.io/persistent-ip (ours)",
      "kubevirt.io/persistent-ipam (of kubevirt/ipam-extensions, which does not run here)",
      "foregroundDeletion (of garbage collection)",
      "a/b (of others)",
    ]);
  });

  it("a VM's name is none of a claim", () => {
    expect(claimDetails(scene({ machines: [vm], claims: [own] }), { name: "db" })).toEqual([]);
  });
});

function reference() {
  return { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "db", uid: "vm-1" };
}

function ending(finalizers = ["holdfast.io/persistent-ip"]) {
  return claim({ uid: "c1", metadata: { deletionTimestamp: "2026-11-15T11:00:00Z", finalizers } });
}

function condition(message: string) {
  return { type: "IPsAllocated", status: "False" as const, reason: "SubnetExhausted", message };
}
