// Claims of kubevirt/ipam-extensions: which of them become ours, and what of them is left alone, and why.
import { describe, expect, it, test } from "vitest";

import { isForeign } from "../../api/claims/claim-marks.ts";
import type { MoveDecision } from "./move.ts";
import { planTakeover, refuseBeside } from "./takeover.ts";
import {
  claim,
  type ClaimParts,
  definition,
  held,
  heldFor,
  instance,
  launcher,
  machine,
  scene,
  type SceneParts,
  user,
} from "./testing/snapshot.ts";

/** As ipam-extensions makes it. */
function theirs({ uid = "claim-1", owner = "vm-1", metadata, ...rest }: Partial<ClaimParts> & { owner?: string } = {}) {
  const reference = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "db", uid: owner };
  return claim({
    uid,
    ...rest,
    metadata: {
      annotations: {},
      labels: { "kubevirt.io/vm": "db" },
      finalizers: ["kubevirt.io/persistent-ipam"],
      ownerReferences: [reference],
      ...metadata,
    },
  });
}

const vm = machine("vm-1");
const vmi = instance("vmi-1", vm);
const pod = launcher("p1", vmi, ["blue"]);
const alone = { ...vmi, metadata: { namespace: "shop", name: "db", uid: "vmi-1" } };
const tenant = definition("tenant", {
  type: "kube-ovn",
  topology: "layer2",
  subnets: "10.9.0.0/24",
  role: "primary",
  allowPersistentIPs: true,
});

function told(verdict: MoveDecision | undefined): string {
  if (verdict?.kind !== "move") return verdict?.kind === "refused" ? `refused ${verdict.why}` : "nothing";
  const { nic, pass, take, users } = verdict.move;
  return [
    nic,
    ...pass.map(({ held: { hold } }) => `pass ${hold.address}`),
    ...take.map(({ address }) => `take ${address}`),
    ...users.map(({ name }) => `used by ${name}`),
  ].join(", ");
}

describe("takeover", () => {
  test.each<[string, SceneParts, string]>([
    ["a stopped VM's", { claims: [theirs({ ips: ["10.0.0.7/24"] })] }, "blue, take 10.0.0.7"],
    [
      "a running VM's: its pod uses it from the start",
      { claims: [theirs({ ips: ["10.0.0.7/24"] })], instances: [vmi], pods: [pod] },
      "blue, take 10.0.0.7, used by virt-launcher-db-p1",
    ],
    [
      "a migrating VM's: both pods use it, and one that has ended does not",
      {
        claims: [theirs({ ips: ["10.0.0.7/24"] })],
        instances: [vmi],
        pods: [pod, launcher("p2", vmi, ["blue"]), launcher("p0", vmi, ["blue"], "Succeeded")],
      },
      "blue, take 10.0.0.7, used by virt-launcher-db-p1, used by virt-launcher-db-p2",
    ],
    [
      "one whose address the VM's own pod holds",
      {
        claims: [theirs({ ips: ["10.0.0.7/24"] })],
        instances: [vmi],
        pods: [pod],
        held: [held("10.0.0.7", { kind: "pod", ...user(pod), namespace: "shop", interface: "pod16477688c0e" })],
      },
      "blue, pass 10.0.0.7, used by virt-launcher-db-p1",
    ],
    ["one that has no address yet", { claims: [theirs()] }, "blue"],
    [
      "one that holds its address already",
      { claims: [theirs({ ips: ["10.0.0.7/24"] })], held: [heldFor("10.0.0.7", "claim-1")] },
      "blue",
    ],
    [
      "dual-stack",
      { machines: [machine("vm-1", ["dual"])], claims: [theirs({ nic: "dual", ips: ["10.1.0.7/24", "fd00::7/64"] })] },
      "dual, take 10.1.0.7, take fd00::7",
    ],
    [
      "one of a network whose addresses another IPAM gives: nothing is held",
      { machines: [machine("vm-1", ["ovn"])], claims: [theirs({ nic: "ovn", ips: ["10.9.0.7/24"] })] },
      "ovn",
    ],
    [
      "that of a VMI without a VM",
      { machines: [], instances: [alone], claims: [theirs({ owner: "vmi-1", ips: ["10.0.0.7/24"] })] },
      "blue, take 10.0.0.7",
    ],
    [
      "that of a network in the pod network's place",
      { machines: [onPrimary()], claims: [theirs({ nic: "default", network: "tenant-net" })], definitions: [tenant] },
      "default",
    ],
    [
      "a name that was made fit: upper case and underscores",
      { machines: [renamed("Blue_1")], claims: [theirs({ nic: "blue", name: "db.blue.1" })] },
      "Blue_1",
    ],
  ])("takes %s", (_, parts, expected) => {
    expect(told(planTakeover(scene({ machines: [vm], ...parts }))[0])).toBe(expected);
  });

  test.each<[string, SceneParts, string]>([
    ["whose owner is gone", { machines: [], claims: [theirs()] }, "its owner vm-1 is gone"],
    [
      "whose owner is another VM of the name",
      { machines: [machine("vm-2")], claims: [theirs()] },
      "its owner vm-1 is gone",
    ],
    ["without an owner", { claims: [theirs({ metadata: { ownerReferences: [] } })] }, "no owner reference"],
    ["that is being deleted", { claims: [theirs({ metadata: { deletionTimestamp: "x" } })] }, "it is being deleted"],
    [
      "whose NIC was unplugged",
      { machines: [machine("vm-1", ["dual"])], claims: [theirs()] },
      "no network of the VM has its name",
    ],
    [
      "whose NIC is on another network",
      { claims: [theirs({ network: "red-net" })] },
      "blue of the VM is not on red-net",
    ],
    [
      "whose name fits two NICs of the VM",
      { machines: [twoNamed("a_b", "a.b")], claims: [theirs({ nic: "blue", name: "db.a.b" })] },
      "its name fits a_b and a.b",
    ],
    [
      "whose address another has",
      { claims: [theirs({ ips: ["10.0.0.7/24"] })], held: [heldFor("10.0.0.7", "claim-8", { name: "web.blue" })] },
      "10.0.0.7 is held for claim shop/web.blue",
    ],
    [
      "of whose two addresses one is another's: none is taken",
      {
        machines: [machine("vm-1", ["dual"])],
        claims: [theirs({ nic: "dual", ips: ["10.1.0.7/24", "fd00::7/64"] })],
        held: [heldFor("fd00::7", "claim-8")],
      },
      "fd00::7 is held for",
    ],
    [
      "whose address is in no range",
      { claims: [theirs({ ips: ["10.5.0.7/24"] })] },
      "10.5.0.7 is in no range of shop/blue",
    ],
    ["whose address cannot be read", { claims: [theirs({ ips: ["seven"] })] }, '"seven" is no address'],
  ])("leaves one %s", (_, parts, words) => {
    expect(told(planTakeover(scene({ machines: [vm], ...parts }))[0])).toContain(words);
  });

  it("puts our finalizer and label there and takes theirs away, in one write", () => {
    const [verdict] = planTakeover(scene({ machines: [vm], claims: [theirs()] }));
    expect(verdict?.kind === "move" && verdict.move.claim).toMatchObject({
      kind: "mark",
      metadata: {
        finalizers: ["holdfast.io/persistent-ip"],
        labels: { "holdfast.io/managed": "true", "kubevirt.io/vm": "db" },
        annotations: { "holdfast.io/claim-owner": "vm-1", "holdfast.io/claim-nic": "blue" },
      },
    });
  });

  it("ours, and those made by hand, are not touched", () => {
    const ours = claim({ uid: "claim-2" });
    const byHand = claim({ uid: "claim-3", owner: "", name: "stake" });
    expect([theirs(), ours, byHand].map(isForeign)).toEqual([true, false, false]);
    expect(planTakeover(scene({ machines: [vm], claims: [ours, byHand] }))).toEqual([]);
  });

  it("is refused while ipam-extensions runs, unless that is meant", () => {
    const books = scene({
      extensions: { isRunning: true, objects: ["Deployment a/b"], why: ["Deployment a/b is its Deployment."] },
    });
    expect(() => refuseBeside(books, { beside: false })).toThrow(/Deployment a\/b is its Deployment\..*--beside/);
    expect(() => refuseBeside(books, { beside: true })).not.toThrow();
    expect(() => refuseBeside(scene(), { beside: false })).not.toThrow();
  });
});

function onPrimary() {
  return { ...vm, spec: { template: { spec: { networks: [{ name: "default", pod: {} }] } } } };
}

function renamed(nic: string) {
  return { ...vm, spec: { template: { spec: { networks: [{ name: nic, multus: { networkName: "blue" } }] } } } };
}

function twoNamed(...nics: string[]) {
  const networks = nics.map((name) => ({ name, multus: { networkName: "blue" } }));
  return { ...vm, spec: { template: { spec: { networks } } } };
}
