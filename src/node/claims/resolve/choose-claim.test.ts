import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  claimInstanceAnnotation,
  claimName,
  claimNicAnnotation,
  claimOwnerAnnotation,
  swappedClaimName,
} from "../../../api/claims/claim-marks.ts";
import type { VirtualMachineInstance } from "../../../api/claims/kubevirt.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import { judgeClaims, type Seeker, type ClaimChoice } from "./choose-claim.ts";

const vmi = (owner = "vm-1", nics: readonly string[] = ["blue", "green"]): VirtualMachineInstance => ({
  metadata: {
    name: "vm",
    uid: "vmi-1",
    ...(owner !== "" && {
      ownerReferences: [
        { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "vm", uid: owner, controller: true },
      ],
    }),
  },
  spec: { networks: nics.map((name) => ({ name, multus: { networkName: "nad" } })) },
});

interface Marks {
  readonly name?: string;
  readonly owner?: string;
  readonly nic?: string;
  readonly instance?: string;
  readonly network?: string;
}

const claimOf = ({ name = "vm.blue", owner, nic, instance, network = "net" }: Marks): StoredClaim => ({
  metadata: {
    name,
    namespace: "ns",
    annotations: {
      ...(owner !== undefined && { [claimOwnerAnnotation]: owner }),
      ...(nic !== undefined && { [claimNicAnnotation]: nic }),
      ...(instance !== undefined && { [claimInstanceAnnotation]: instance }),
    },
  },
  spec: { network, interface: "" },
});

const launcher: Seeker = { namespace: "ns", pod: "p", reference: undefined, network: "net", vmi: vmi(), nic: "blue" };
const plain: Seeker = { ...launcher, vmi: undefined, nic: undefined, reference: "mine" };
const swapped = swappedClaimName("vm", "blue", "net");
const ours: Marks = { owner: "vm-1", nic: "blue" };

/** The choice once all wanted claims are read from `there`. */
function judged(seeker: Seeker, there: readonly StoredClaim[]): Exclude<ClaimChoice, { kind: "read" }> {
  const read = new Map<string, StoredClaim | undefined>();
  for (;;) {
    const verdict = judgeClaims(seeker, read);
    if (verdict.kind !== "read") return verdict;
    expect(read.has(verdict.name)).toBe(false);
    read.set(
      verdict.name,
      there.find(({ metadata }) => metadata.name === verdict.name),
    );
  }
}

describe("which claim an interface goes by", () => {
  it.each<[string, Seeker, Marks[], string]>([
    ["a launcher's own", launcher, [ours], "use vm.blue"],
    ["nothing there yet", launcher, [], "wait vm.blue"],
    ["left by another VM of the name", launcher, [{ ...ours, owner: "vm-0" }], "wait vm.blue"],
    ["of another NIC under this one's name", launcher, [{ ...ours, nic: "green" }], "wait vm.blue"],
    ["nobody's, under this one's name", launcher, [{}], "wait vm.blue"],
    ["nobody's, and the pod names it", { ...launcher, reference: "vm.blue" }, [{}], "use vm.blue"],
    ["the VMI's, which has a VM now", launcher, [{ ...ours, owner: "vmi-1" }], "use vm.blue"],
    [
      "a VM's that was deleted without its VMI",
      { ...launcher, vmi: vmi("") },
      [{ ...ours, instance: "vmi-1" }],
      "use vm.blue",
    ],
    ["of an earlier VMI of another owner", launcher, [{ ...ours, owner: "vm-0", instance: "vmi-0" }], "wait vm.blue"],
    ["the NIC was moved to this network", launcher, [{ ...ours, network: "old" }], `wait ${swapped}`],
    [
      "moved, and its claim is there",
      launcher,
      [
        { ...ours, network: "old" },
        { ...ours, name: swapped },
      ],
      `use ${swapped}`,
    ],
    [
      "the name as a reference, of an old VM",
      { ...launcher, reference: "vm.blue" },
      [{ ...ours, owner: "vm-0" }],
      "wait vm.blue",
    ],
    [
      "a reference to another's",
      { ...launcher, reference: "x" },
      [{ ...ours, name: "x", owner: "vm-9" }, ours],
      "refuse",
    ],
    [
      "a reference to this VM's other NIC",
      { ...launcher, reference: "vm.green" },
      [{ ...ours, name: "vm.green", nic: "green" }, ours],
      "use vm.blue",
    ],
    [
      "the same, its own not there",
      { ...launcher, reference: "vm.green" },
      [{ ...ours, name: "vm.green", nic: "green" }],
      "refuse",
    ],
    ["a reference under a name of its own", { ...launcher, reference: "x" }, [{ ...ours, name: "x" }], "use x"],
    ["a reference that is not there, the own one is", { ...launcher, reference: "x" }, [ours], "use vm.blue"],
    ["a reference that is not there, nor the own one", { ...launcher, reference: "x" }, [], "wait x"],
    [
      "an unmarked claim of extensions, by its name",
      { ...launcher, reference: "vm.blue" },
      [{ owner: "vm-1" }],
      "use vm.blue",
    ],
    [
      "an unmarked one that is named for the other NIC",
      { ...launcher, reference: "vm.green" },
      [{ owner: "vm-1", name: "vm.green" }, ours],
      "use vm.blue",
    ],
    ["any pod, a claim without an owner", plain, [{ name: "mine" }], "use mine"],
    ["any pod, not there yet", plain, [], "wait mine"],
    ["any pod, a VM's claim", plain, [{ ...ours, name: "mine" }], "refuse"],
    ["any pod, another network's claim", plain, [{ name: "mine", network: "old" }], "refuse"],
  ])("%s", (_, seeker, there, expected) => {
    const verdict = judged(seeker, there.map(claimOf));
    const said =
      verdict.kind === "use"
        ? `use ${verdict.claim.metadata.name}`
        : verdict.kind === "wait"
          ? `wait ${verdict.name}`
          : verdict.kind;
    expect(said).toBe(expected);
  });

  it("names of extensions are recognised: dots for what a name may not have", () => {
    const seeker: Seeker = { ...launcher, vmi: vmi("vm-1", ["my_net", "other"]), nic: "other", reference: "vm.my.net" };
    const there = [claimOf({ owner: "vm-1", name: "vm.my.net" }), claimOf({ ...ours, nic: "other", name: "vm.other" })];
    expect(judged(seeker, there)).toMatchObject({ kind: "use", claim: { metadata: { name: "vm.other" } } });
  });

  it("every refusal and wait names the claim and the pod", () => {
    for (const [seeker, there] of [
      [plain, []],
      [plain, [{ ...ours, name: "mine" }]],
      [plain, [{ name: "mine", network: "old" }]],
      [launcher, [{ ...ours, owner: "vm-0" }]],
    ] as const) {
      const verdict = judged(seeker, there.map(claimOf));
      expect("why" in verdict && verdict.why).toMatch(/IPAMClaim ns\/(mine|vm\.blue).*ns\/p/);
    }
  });

  const names = fc.constantFrom("vm.blue", "vm.green", swapped, "x");
  const marks = fc.record(
    {
      name: names,
      owner: fc.constantFrom("vm-1", "vm-0", "vmi-1"),
      nic: fc.constantFrom("blue", "green"),
      instance: fc.constantFrom("vmi-1", "vmi-0"),
      network: fc.constantFrom("net", "old"),
    },
    { requiredKeys: ["name"] },
  );

  it("whatever is there, no claim of another owner, NIC or network is used", () => {
    fc.assert(
      fc.property(fc.array(marks, { maxLength: 4 }), fc.option(names, { nil: undefined }), (all, reference) => {
        const there = [...new Map(all.map((each) => [each.name, each])).values()];
        const verdict = judged(
          { ...launcher, reference },
          there.map((each) => claimOf(each as Marks)),
        );
        if (verdict.kind !== "use") return;
        const used = there.find(({ name }) => name === verdict.claim.metadata.name)! as Marks;
        expect(used.network ?? "net").toBe("net");
        expect(used.owner === undefined ? reference === used.name : isRight(used)).toBe(true);
      }),
    );
    function isRight({ owner, instance, nic, name }: Marks): boolean {
      const isOwner = owner === "vm-1" || owner === "vmi-1" || instance === "vmi-1";
      return isOwner && (nic === undefined ? name !== claimName("vm", "green") : nic === "blue");
    }
  });
});
