import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { claimName, claimOwnerAnnotation, claimVmAnnotation, swappedClaimName } from "../../api/claims/claim-marks.ts";
import { claim, defined, element, forbids, judged, references, type Story, vmi } from "./testing/story.ts";

describe("each NIC its own claim", () => {
  test("by the NIC's name in the VM, not by its network's", () => {
    const told = judged({
      vmi: vmi("left=blue right=green"),
      elements: [element("left", "blue"), element("right", "green")],
    });
    expect(references(told)).toEqual(["vm1.left", "vm1.right"]);
    expect(told.warnings).toEqual([]);
  });

  test("two NICs of one definition: two claims", () => {
    const told = judged({ vmi: vmi("a=blue b=blue"), elements: [element("a", "blue"), element("b", "blue")] });
    expect(references(told)).toEqual(["vm1.a", "vm1.b"]);
  });

  test("ordinal names: by position among the elements of the same definition", () => {
    const told = judged({
      vmi: vmi("a=blue b=blue c=green"),
      elements: [{ name: "blue" }, { name: "green" }, { name: "blue" }],
    });
    expect(references(told)).toEqual(["vm1.a", "vm1.c", "vm1.b"]);
  });

  test("a definition that is missing takes nothing from the others, and is said", () => {
    const told = judged({
      vmi: vmi("a=blue b=nowhere c=green"),
      elements: [element("a", "blue"), element("b", "nowhere"), element("c", "green")],
    });
    expect(references(told)).toEqual(["vm1.a", undefined, "vm1.c"]);
    expect(told.warnings).toEqual([expect.stringContaining("network b")]);
  });

  test("what an element has beside stays as it is", () => {
    const more = { mac: "02-11-22-33-44-AA", "cni-args": { logicNetworkName: "a", deep: [1, { x: null }] } };
    const told = judged({ vmi: vmi("a=blue"), elements: [element("a", "blue", more)] });
    expect(told.list).toEqual([{ ...element("a", "blue", more), "ipam-claim-reference": "vm1.a" }]);
  });

  test("a reference that is there stays", () => {
    const told = judged({ vmi: vmi("a=blue"), elements: [element("a", "blue", { "ipam-claim-reference": "mine" })] });
    expect(told.written).toEqual({});
  });

  test("an element of no NIC of the VM gets none", () => {
    const told = judged({ vmi: vmi("a=blue"), elements: [{ name: "blue", interface: "sidecar0" }] });
    // By position it is the first of its definition: KubeVirt's ordinal names end so. Another definition is nobody's.
    expect(references(told)).toEqual(["vm1.a"]);
    expect(judged({ vmi: vmi("a=blue"), elements: [{ name: "green", interface: "x0" }] }).written).toEqual({});
  });
});

describe("only for those that get claims", () => {
  const nic = { vmi: vmi("a=blue"), elements: [element("a", "blue")] };
  const held = { nic: "a", ips: ["10.0.0.7/24"] };
  const own = claim("vm1.a", "vm", "blue-net", held);
  test.each<[string, Partial<Story>, unknown]>([
    ["gate off or label false, no claim", { isWanted: false }, undefined],
    ["gate off, a claim without addresses", { isWanted: false, claims: [claim("vm1.a", "vm", "blue-net")] }, undefined],
    ["gate off, a claim with addresses: still its", { isWanted: false, claims: [own] }, ["vm1.a"]],
    ["the definition does not allow it", { definitions: { "t/blue": forbids("blue-net") } }, undefined],
    [
      "the definition does not allow it any more, and the claim has addresses",
      { definitions: { "t/blue": forbids("blue-net") }, claims: [own] },
      ["vm1.a"],
    ],
    ["the definition is gone, and the claim has addresses", { definitions: {}, claims: [own] }, ["vm1.a"]],
    [
      "its claim is there, without addresses yet",
      { claims: [claim("vm1.a", "vm", "blue-net", { nic: "a" })] },
      ["vm1.a"],
    ],
    ["its claim is of the VMI", { claims: [claim("vm1.a", "vmi", "blue-net", held)] }, ["vm1.a"]],
    ["the claim is another VM's", { claims: [claim("vm1.a", "other", "blue-net", held)] }, undefined],
    [
      "the name is taken by a claim of a VM of another name, which stays",
      {
        claims: [
          {
            metadata: { name: "vm1.a", annotations: { [claimOwnerAnnotation]: "db", [claimVmAnnotation]: "db" } },
            spec: { network: "blue-net", interface: "" },
          },
        ],
      },
      [swappedClaimName("vm1", "a", "blue-net")],
    ],
    ["the claim is of another NIC", { claims: [claim("vm1.a", "vm", "blue-net", { ...held, nic: "b" })] }, undefined],
    [
      "the claim is nobody's: made by hand",
      { claims: [{ metadata: { name: "vm1.a" }, spec: { network: "blue-net", interface: "" } }] },
      undefined,
    ],
    [
      "its claim is of the network before the swap",
      { claims: [claim("vm1.a", "vm", "old-net", held)] },
      [swappedClaimName("vm1", "a", "blue-net")],
    ],
    [
      "and the one of the network after the swap is there",
      {
        claims: [
          claim("vm1.a", "vm", "old-net", held),
          claim(swappedClaimName("vm1", "a", "blue-net"), "vm", "blue-net", held),
        ],
      },
      [swappedClaimName("vm1", "a", "blue-net")],
    ],
    [
      "the swapped name is another's",
      {
        claims: [
          claim("vm1.a", "vm", "old-net", held),
          claim(swappedClaimName("vm1", "a", "blue-net"), "other", "blue-net", held),
        ],
      },
      undefined,
    ],
  ])("%s", (_name, story, expected) => expect(references(judged({ ...nic, ...story }))).toEqual(expected));

  test("a claim of another is said", () => {
    const told = judged({ ...nic, claims: [claim("vm1.a", "other", "blue-net", held)] });
    expect(told.warnings).toEqual([expect.stringContaining("vm1.a belongs to another")]);
  });

  test("the network that is the pod's default has no element, and one that is absent and not listed neither", () => {
    const spec = {
      ...vmi("a=blue"),
      spec: { networks: [{ name: "a", multus: { networkName: "blue", default: true } }] },
    };
    expect(judged({ vmi: spec, elements: [element("a", "blue")] }).written).toEqual({});
  });
});

describe("a pod that is there already", () => {
  const machine = vmi("a=blue b=green");
  const referring = element("a", "blue", { "ipam-claim-reference": "vm1.a" });

  test("a NIC that is plugged gets its reference; KubeVirt wrote the list without ours, which come back", () => {
    const told = judged({
      vmi: machine,
      before: [referring],
      elements: [element("a", "blue"), element("b", "green")],
    });
    expect(references(told)).toEqual(["vm1.a", "vm1.b"]);
  });

  test("a second NIC of a network that is attached already gets a claim of its own", () => {
    const told = judged({
      vmi: vmi("a=blue b=blue"),
      before: [referring],
      elements: [element("a", "blue"), element("b", "blue")],
    });
    expect(references(told)).toEqual(["vm1.a", "vm1.b"]);
  });

  test("one that was attached without a reference stays without: it has an address of its own", () => {
    const told = judged({
      vmi: machine,
      before: [element("a", "blue")],
      elements: [element("a", "blue"), element("b", "green")],
    });
    expect(references(told)).toEqual([undefined, "vm1.b"]);
  });

  test("one that is unplugged: those that stay keep theirs, whatever gate and definitions say now", () => {
    const told = judged({
      vmi: machine,
      before: [referring, element("b", "green", { "ipam-claim-reference": "vm1.b" })],
      elements: [element("a", "blue")],
      isWanted: false,
      definitions: {},
    });
    expect(references(told)).toEqual(["vm1.a"]);
  });
});

describe("odd text is left as it is", () => {
  test.each([
    "",
    "blue,green@net2",
    "{",
    "null",
    "7",
    '"text"',
    "[[]]",
    '[null,7,"x",{}]',
    JSON.stringify(Array.from({ length: 101 }, () => element("a", "blue"))),
  ])("%s", (text) => expect(judged({ vmi: vmi("a=blue"), elements: text }).written).toEqual({}));

  test("an element that is none is passed over, and the next one gets its reference", () => {
    const told = judged({ vmi: vmi("a=blue"), elements: [7, { name: 5 }, element("a", "blue")] });
    expect(told.list).toEqual([7, { name: 5 }, { ...element("a", "blue"), "ipam-claim-reference": "vm1.a" }]);
  });

  test("whatever it is, nothing is thrown, and what was there is still there", () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), fc.boolean(), (elements, before, isUpdate) => {
        const told = judged({ vmi: vmi("a=blue b=green"), elements, ...(isUpdate && { before }) });
        if (told.list === undefined) return;
        const given: unknown = JSON.parse(elements);
        const list: unknown[] = Array.isArray(given) ? given : [given];
        expect(told.list).toHaveLength(list.length);
        for (const [index, each] of told.list.entries()) expect(each).toMatchObject(list[index] as object);
      }),
    );
  });
});

/** The slow way: for every NIC of a launcher pod, one after another, what stands in docs/decisions/0014. */
test("no element ever refers to a claim of another owner, and no two NICs to one", () => {
  const nicNames = ["a", "b", "c"];
  const state = fc.record({
    definitions: fc.array(fc.constantFrom("blue", "green", "gone"), { minLength: 3, maxLength: 3 }),
    owners: fc.array(fc.constantFrom("vm", "vmi", "other", undefined), { minLength: 3, maxLength: 3 }),
    networks: fc.array(fc.constantFrom("blue-net", "green-net", "old-net"), { minLength: 3, maxLength: 3 }),
    hasIps: fc.boolean(),
    isWanted: fc.boolean(),
    order: fc.shuffledSubarray([0, 1, 2]),
  });
  fc.assert(
    fc.property(state, ({ definitions, owners, networks: cniNames, hasIps, isWanted, order }) => {
      const claims = nicNames.flatMap((nic, index) => {
        const owner = owners[index];
        const ips = hasIps ? { ips: ["10.0.0.7/24"] } : {};
        return owner === undefined ? [] : [claim(claimName("vm1", nic), owner, cniNames[index]!, { nic, ...ips })];
      });
      const machine = vmi(nicNames.map((nic, index) => `${nic}=${definitions[index]}`).join(" "));
      const elements = order.map((index) => element(nicNames[index]!, definitions[index]!));
      const told = references(judged({ vmi: machine, elements, claims, isWanted })) ?? elements.map(() => undefined);
      const given = told.filter((each) => each !== undefined);
      expect(new Set(given).size).toBe(given.length);
      for (const [at, index] of order.entries()) {
        const nic = nicNames[index]!;
        const found = claims.find(({ metadata }) => metadata.name === `vm1.${nic}`);
        const network = defined[`t/${definitions[index]}` as keyof typeof defined]?.network;
        const isMine = found !== undefined && owners[index] !== "other";
        const fits = isMine && (network === undefined || found.spec.network === network);
        const isNew = isWanted && network !== undefined;
        if (fits && (hasIps || isNew)) expect(told[at]).toBe(`vm1.${nic}`);
        else if (isNew && found === undefined) expect(told[at]).toBe(`vm1.${nic}`);
        else if (isNew && isMine) expect(told[at]).toBe(swappedClaimName("vm1", nic, network));
        else expect(told[at]).toBeUndefined();
      }
    }),
  );
});
