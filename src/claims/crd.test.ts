import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { claimDefinition, type ClaimDefinition, crdRevisionAnnotation, definitionStep } from "./crd.ts";

/** Of the standard's definition v0.5.1, what its clients rely on. Written down here, not taken from our schema. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly format?: string;
}

const ours = claimDefinition();
const [version] = ours.spec.versions as unknown as {
  name: string;
  served: boolean;
  storage: boolean;
  subresources?: object;
  schema: { openAPIV3Schema: Schema };
  additionalPrinterColumns: { name: string }[];
}[];
const schema = version!.schema.openAPIV3Schema;

describe("the shape of v0.5.1", () => {
  test("group, names, one version, a status of its own", () => {
    expect(ours.metadata.name).toBe("ipamclaims.k8s.cni.cncf.io");
    expect(ours.spec).toMatchObject({
      group: "k8s.cni.cncf.io",
      scope: "Namespaced",
      names: { kind: "IPAMClaim", listKind: "IPAMClaimList", plural: "ipamclaims", singular: "ipamclaim" },
    });
    expect(ours.spec.versions).toHaveLength(1);
    expect(version).toMatchObject({ name: "v1alpha1", served: true, storage: true, subresources: { status: {} } });
  });

  test("spec: network and interface, both demanded, both text", () => {
    const { spec } = schema.properties!;
    expect([...spec!.required!].sort()).toEqual(["interface", "network"]);
    expect(spec!.properties).toMatchObject({ interface: { type: "string" }, network: { type: "string" } });
  });

  test("status: ips demanded; the pod by name; conditions as meta/v1 has them", () => {
    const { status } = schema.properties!;
    expect(schema.required ?? []).not.toContain("status");
    expect(status!.required).toEqual(["ips"]);
    expect(status!.properties).toMatchObject({
      ips: { type: "array", items: { type: "string" } },
      ownerPod: { type: "object", properties: { name: { type: "string" } } },
      conditions: { type: "array" },
    });
    expect(status!.properties!["ownerPod"]!.required ?? []).toEqual([]);
    expect(status!.properties!["conditions"]!.items!.properties).toMatchObject({
      type: { type: "string" },
      status: { type: "string", enum: ["True", "False", "Unknown"] },
      reason: { type: "string" },
      message: { type: "string" },
      lastTransitionTime: { type: "string", format: "date-time" },
      observedGeneration: { type: "integer", format: "int64" },
    });
  });
});

const made = (revision: string | undefined, versions = ["v1alpha1"], group = "k8s.cni.cncf.io"): ClaimDefinition => ({
  metadata: {
    name: "ipamclaims.k8s.cni.cncf.io",
    ...(revision !== undefined && { annotations: { [crdRevisionAnnotation]: revision } }),
  },
  spec: { group, versions: versions.map((name) => ({ name })) },
});

describe("what becomes of the one that is there", () => {
  const program = made("3");
  test.each<[string, ClaimDefinition | undefined, "create" | "replace" | "keep", string]>([
    ["there is none", undefined, "create", ""],
    ["one of nobody's marks, the same version", made(undefined), "keep", "not ours"],
    ["a newer one of the standard, with a further version", made(undefined, ["v1alpha1", "v1"]), "keep", "not ours"],
    ["ours, earlier", made("2"), "replace", "earlier revision 2"],
    ["ours, the same", made("3"), "keep", "ours already"],
    ["ours, later", made("4"), "keep", "later revision 4"],
    ["ours, earlier, and somebody has added a version", made("2", ["v1alpha1", "v1"]), "keep", "v1, v1alpha1"],
    ["ours, earlier, and the version is another", made("2", ["v1beta1"]), "keep", "v1beta1"],
    ["another group", made("2", ["v1alpha1"], "persistentip.cni.cncf.io"), "keep", "versions"],
    ["a revision that is no number", made("two"), "keep", "not ours"],
    ["a negative revision", made("-1"), "keep", "not ours"],
    ["a revision of 2 with more behind", made("2.9"), "keep", "not ours"],
  ])("%s", (_name, there, kind, why) => {
    const step = definitionStep(there, program);
    expect(step.kind).toBe(kind);
    if (step.kind !== "create") expect(step.why).toContain(why);
  });

  test("it is replaced only by a later revision of ours with the same versions", () => {
    const versions = fc.uniqueArray(fc.constantFrom("v1alpha1", "v1beta1", "v1"), { minLength: 1 });
    const revisions = fc.oneof(fc.nat(9).map(String), fc.constant(undefined), fc.string());
    fc.assert(
      fc.property(revisions, versions, fc.nat(9), (revision, names, own) => {
        const step = definitionStep(made(revision, names), made(String(own)));
        const isEarlier = revision !== undefined && /^\d{1,9}$/.test(revision) && Number(revision) < own;
        expect(step.kind).toBe(isEarlier && names.join() === "v1alpha1" ? "replace" : "keep");
      }),
    );
  });
});
