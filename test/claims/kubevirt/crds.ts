// KubeVirt's kinds on any API server, as small as a driver needs them: names, scope, and which have a status
// subresource. Their fields are not checked: KubeVirt's webhooks do that, and these tests have none of them.
import { isApiError } from "../../../src/kube/errors.ts";
import type { AnyObject } from "../../../src/kube/meta.ts";
import { defineResource, type Resource } from "../../../src/kube/resource.ts";
import type { KubeClient } from "../../../src/kube/rest.ts";
import { until } from "../../lab/wait.ts";

const definitions = defineResource<AnyObject>({
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
});

interface Shape {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  /** observed: section 1. A VMI has none: its status is written by plain updates. */
  readonly hasStatus: boolean;
}

const shapes: readonly Shape[] = [
  { kind: "VirtualMachine", plural: "virtualmachines", shortName: "vm", hasStatus: true },
  { kind: "VirtualMachineInstance", plural: "virtualmachineinstances", shortName: "vmi", hasStatus: false },
  {
    kind: "VirtualMachineInstanceMigration",
    plural: "virtualmachineinstancemigrations",
    shortName: "vmim",
    hasStatus: true,
  },
];

const group = "kubevirt.io";
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export const kubevirtCrds = shapes.map(({ kind, plural, shortName, hasStatus }) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural, singular: kind.toLowerCase(), kind, shortNames: [shortName] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
        ...(hasStatus && { subresources: { status: {} } }),
      },
    ],
  },
}));

/** Resolves when all three are served. Those that are there already stay as they are. */
export async function install(client: KubeClient): Promise<void> {
  for (const crd of kubevirtCrds) {
    try {
      await client.create(definitions, structuredClone(crd));
    } catch (error) {
      if (!isApiError(error, "already-exists")) throw error;
    }
  }
  for (const { kind, plural } of shapes) {
    const resource: Resource = { group, version: "v1", plural, kind, namespaced: true };
    await until(async () => client.list(resource).then(() => true), { what: `${plural} to be served` });
  }
}
