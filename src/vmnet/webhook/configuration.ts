// The webhooks of managed DHCP as the API server knows them: which requests, and how long to wait. Pure. They fail
// open (src/cluster/webhooks.ts): the controller reads every object by the same rules, and serves none that they
// refuse.
import { managedPoolKind } from "../../api/vmnet/managed-pool.ts";
import { networkConfigKind } from "../../api/vmnet/network-config.ts";
import { networkAttachmentDefinitions } from "../../cluster/resources.ts";
import { type ClientConfig, failsOpen, namespacedRule } from "../../cluster/webhooks.ts";

export const configurationName = "holdfast-vmnet";

export const paths = {
  poolDefaults: "/managed-pool-defaults",
  pool: "/managed-pools",
  networkConfig: "/network-configs",
  definition: "/vm-networks",
} as const;

/** A person waits for it; a new pool costs some lists. */
const timeoutSeconds = 5;

export function mutatingConfiguration(clientConfig: ClientConfig, metadata: object = {}): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: configurationName, ...metadata },
    webhooks: [
      {
        name: "ippools-defaults.vmnet.holdfast.io",
        clientConfig: clientConfig(paths.poolDefaults),
        rules: [ruleOf(managedPoolKind, ["CREATE"])],
        timeoutSeconds,
        ...failsOpen,
      },
    ],
  };
}

export function validatingConfiguration(clientConfig: ClientConfig, metadata: object = {}): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: configurationName, ...metadata },
    webhooks: [
      {
        name: "ippools.vmnet.holdfast.io",
        clientConfig: clientConfig(paths.pool),
        rules: [ruleOf(managedPoolKind, ["CREATE", "UPDATE", "DELETE"])],
        timeoutSeconds,
        ...failsOpen,
      },
      {
        name: "virtualmachinenetworkconfigs.vmnet.holdfast.io",
        clientConfig: clientConfig(paths.networkConfig),
        rules: [ruleOf(networkConfigKind, ["CREATE", "UPDATE"])],
        timeoutSeconds,
        ...failsOpen,
      },
      {
        name: "networks.vmnet.holdfast.io",
        clientConfig: clientConfig(paths.definition),
        rules: [ruleOf(networkAttachmentDefinitions, ["CREATE", "UPDATE", "DELETE"])],
        timeoutSeconds,
        ...failsOpen,
      },
    ],
  };
}

interface Served {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** Not of the status: its writer is the controller. */
function ruleOf({ group, version, plural }: Served, operations: readonly string[]) {
  return namespacedRule(group, version, plural, operations);
}
