// NetworkAttachmentDefinition (k8s.cni.cncf.io/v1), the kind that names a secondary network: the multi-network
// standard, section 3. Clusters with Multus have its CRD; the embedded API and the test cluster get it from here.

const properties = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object" },
  spec: {
    type: "object",
    properties: {
      config: { type: "string", description: "A CNI configuration or configuration list, as JSON text." },
    },
  },
} as const;

const description = "A network that pods can be attached to beside their first one.";

export const networkAttachmentDefinitionCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "network-attachment-definitions.k8s.cni.cncf.io" },
  spec: {
    group: "k8s.cni.cncf.io",
    scope: "Namespaced",
    names: {
      plural: "network-attachment-definitions",
      singular: "network-attachment-definition",
      kind: "NetworkAttachmentDefinition",
      shortNames: ["net-attach-def"],
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", description, properties } },
      },
    ],
  },
} as const;
