// Claims that go into a file, and what another cluster makes of it.
import { describe, expect, it, test } from "vitest";

import { identityOf } from "../../api/claims/claim-marks.ts";
import { planFile, type ExportedClaim, exportClaims, type ExportFile, parseExport } from "./export.ts";
import type { SnapshotIndex } from "./snapshot.ts";
import { claim, heldFor, machine, nowMs, scene, type SceneParts } from "./testing/snapshot.ts";

const vm = machine("vm-1", ["blue", "dual", "ovn"]);

const entry: ExportedClaim = {
  namespace: "shop",
  vm: "db",
  nic: "blue",
  network: "blue-net",
  ownerUid: "vm-1",
  claim: "db.blue",
  ips: ["10.0.0.7/24"],
  mac: "",
};

describe("export", () => {
  it("has every VM's claim that has an address, as it is held", () => {
    const books = scene({
      machines: [vm],
      claims: [
        claim({ uid: "c1", ips: ["10.0.0.99/24"], metadata: { labels: { "holdfast.io/mac": "02-11-22-33-44-55" } } }),
        claim({ uid: "c2", nic: "dual" }),
        claim({ uid: "c3", nic: "ovn", ips: ["10.9.0.4/24"] }),
        claim({ uid: "c4", owner: "", name: "stake", ips: ["10.0.0.20/24"] }),
        claim({ uid: "c5", owner: "vm-0", name: "old.blue" }),
      ],
      held: [heldFor("10.0.0.7", "c1")],
    });
    expect(exportClaims(books)).toEqual({
      kind: "holdfast-claims",
      version: 1,
      exportedAt: new Date(nowMs).toISOString(),
      claims: [
        { ...entry, claim: "db.blue", mac: "02:11:22:33:44:55" },
        { ...entry, nic: "ovn", network: "ovn-net", claim: "db.ovn", ips: ["10.9.0.4/24"] },
      ],
      left: [
        "IPAMClaim shop/db.dual: it has no address yet",
        expect.stringContaining("IPAMClaim shop/stake: it has no owner"),
        "IPAMClaim shop/old.blue: its owner vm-0 is gone",
      ],
    });
  });

  it("is read as it was written", () => {
    const file = exportClaims(
      scene({ machines: [vm], claims: [claim({ uid: "c1" })], held: [heldFor("10.0.0.7", "c1")] }),
    );
    expect(parseExport(JSON.stringify(file, undefined, 2), "f")).toEqual(file);
  });

  test.each([
    ["", "Unexpected end of JSON"],
    ["[]", "the document"],
    ['{"kind":"holdfast-claims","version":2,"claims":[]}', "version"],
    ['{"kind":"holdfast-claims","version":1,"claims":[{"namespace":"a"}]}', "claims.0.vm"],
  ])("%j is no such file", (text, words) => {
    expect(() => parseExport(text, "claims.json")).toThrow(words);
    expect(() => parseExport(text, "claims.json")).toThrow(/^claims\.json is not what/);
  });
});

describe("adopt --file", () => {
  const file = (...claims: ExportedClaim[]): ExportFile => ({
    kind: "holdfast-claims",
    version: 1,
    exportedAt: "",
    claims,
    left: [],
  });
  const here = machine("vm-9", ["blue", "dual"]);
  const own = claim({ uid: "c9", owner: "vm-9" });
  const told = (books: SnapshotIndex, ...claims: ExportedClaim[]) =>
    planFile(books, { file: file(...claims) }).map((verdict) => {
      if (verdict.kind !== "move") return `${verdict.kind} ${verdict.kind === "done" ? verdict.words : verdict.why}`;
      const { claim: change, pass, take } = verdict.move;
      return [
        change.kind,
        ...pass.map(({ held }) => `pass ${held.hold.address}`),
        ...take.map(({ address }) => `take ${address}`),
      ].join(", ");
    });

  test.each<[string, SceneParts, string]>([
    ["the VM has no claim yet", {}, "create, take 10.0.0.7"],
    ["the leader made its claim", { claims: [own] }, "mark, take 10.0.0.7"],
    ["it was done before", { claims: [own], held: [heldFor("10.0.0.7", "c9")] }, "done it has 10.0.0.7/24 already"],
    [
      "its claim was taken away, and the hold stands",
      { held: [heldFor("10.0.0.7", "gone", { note: { identity: identityOf("vm-9", "blue") } })] },
      "create, pass 10.0.0.7",
    ],
    ["the VM is not there", { machines: [] }, "refused there is no VM shop/db here"],
    [
      "the VM has another address",
      { claims: [own], held: [heldFor("10.0.0.8", "c9")] },
      "refused VM shop/db has 10.0.0.8",
    ],
    [
      "the address is another's",
      { held: [heldFor("10.0.0.7", "c1", { name: "web.blue" })] },
      "refused 10.0.0.7 is held for claim shop/web.blue",
    ],
    ["the range is another", { definitions: [] }, "refused there is no NetworkAttachmentDefinition shop/blue"],
    [
      "a claim of others has the name",
      { claims: [claim({ uid: "c1", owner: "" })] },
      "refused IPAMClaim shop/db.blue has the name",
    ],
    [
      "a claim of the same identity was taken away, and its hold stands",
      { held: [heldFor("10.0.0.8", "gone", { note: { identity: identityOf("vm-9", "blue") } })] },
      "refused VM shop/db has 10.0.0.8",
    ],
  ])("where %s", (_, parts, expected) => {
    expect(told(scene({ machines: [here], ...parts }), entry)[0]).toContain(expected);
  });

  it("one address for two VMs is refused for the second", () => {
    const both = [entry, { ...entry, vm: "web" }];
    const books = scene({ machines: [here, machine("vm-8", ["blue"], "web")] });
    expect(told(books, ...both)).toEqual([
      "create, take 10.0.0.7",
      "refused the file gives 10.0.0.7 to shop/db blue too",
    ]);
  });

  it("takes both addresses of a dual-stack NIC or none", () => {
    const dual = { ...entry, nic: "dual", network: "dual-net", ips: ["10.1.0.7/24", "fd00::7/64"] };
    expect(told(scene({ machines: [here] }), dual)).toEqual(["create, take 10.1.0.7, take fd00::7"]);
    expect(told(scene({ machines: [here], held: [heldFor("fd00::7", "c1")] }), dual)[0]).toContain(
      "refused fd00::7 is held",
    );
  });

  it("is cut down to a namespace, a VM, a network", () => {
    const all = file(entry, { ...entry, nic: "dual" }, { ...entry, vm: "web" }, { ...entry, namespace: "other" });
    const count = (part: object) => planFile(scene(), { file: all, ...part }).length;
    expect([{}, { namespace: "shop" }, { namespace: "shop", name: "db" }, { nic: "dual" }].map(count)).toEqual([
      4, 3, 2, 1,
    ]);
  });
});
