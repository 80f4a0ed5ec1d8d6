// deploy/crds: one file per kind, and one for fair queuing. deploy/holdfast.yaml: those and all that runs, to apply at
// once. Apart, as a choice: the multi-network standard's IPAMClaim, which a cluster may have already, managed DHCP,
// and the webhooks.
import { stringify } from "yaml";

import { definitionOf } from "../../src/api/definition.ts";
import { kinds, managedDhcpKinds } from "../../src/api/kinds.ts";
import { claimDefinition } from "../../src/claims/crd.ts";
import { flowControlObjects } from "./deploy/flow-control.ts";
import { imageName, installation } from "./deploy/installation.ts";
import { managedDhcpObjects, takeoverObjects } from "./deploy/managed-dhcp.ts";
import { ovnNodeObjects } from "./deploy/ovn-node.ts";
import { version } from "./deploy/version.ts";
import { webhookObjects } from "./deploy/webhooks.ts";

export interface Manifest {
  /** Path below the checkout. */
  readonly file: string;
  readonly text: string;
}

export function manifests(): Manifest[] {
  const definitions = kinds.map((kind) => ({
    file: `deploy/crds/${kind.group}_${kind.plural}.yaml`,
    text: documents([definitionOf(kind)], "src/api"),
  }));
  return [
    ...definitions,
    {
      file: "deploy/ipamclaims/k8s.cni.cncf.io_ipamclaims.yaml",
      text: documents([claimDefinition()], "src/api/claims/ipam-claim.ts"),
    },
    {
      file: "deploy/managed-dhcp/crds.yaml",
      text: documents(managedDhcpKinds.map(definitionOf), "src/api/vmnet"),
    },
    {
      file: "deploy/managed-dhcp/rights.yaml",
      text: documents(managedDhcpObjects(), "tools/generate/deploy/managed-dhcp.ts"),
    },
    {
      file: "deploy/managed-dhcp/takeover.yaml",
      text: documents(takeoverObjects(), "tools/generate/deploy/managed-dhcp.ts"),
    },
    { file: "deploy/ovn/node-rights.yaml", text: documents(ovnNodeObjects(), "tools/generate/deploy/ovn-node.ts") },
    { file: "deploy/webhooks.yaml", text: documents(webhookObjects(), "tools/generate/deploy/webhooks.ts") },
    {
      file: "deploy/crds/flow-control.yaml",
      text: documents(flowControlObjects(), "tools/generate/deploy/flow-control.ts"),
    },
    {
      file: "deploy/holdfast.yaml",
      text: documents(installation({ image: imageName(version()) }), "tools/generate/deploy"),
    },
  ];
}

function documents(objects: readonly object[], source: string): string {
  const texts = objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }));
  return `# Generated from ${source} (npm run generate).\n${texts.join("---\n")}`;
}
