// The controller's webhooks as the API server knows them: which requests, how long to wait, and that it goes on
// without us. All fail open: a cluster whose controller is away must still start and delete VMs. The reference in a
// launcher pod helps CNIs that read nothing else; our daemon finds a claim without it. Finalizers and the reconcilers,
// which check by the same rules again, back up what validation refuses.
import { launcherLabelName, launcherValue } from "../../../src/api/claims/kubevirt.ts";
import {
  ipamClaims,
  managedPools,
  networkAttachmentDefinitions,
  networkConfigs,
  pods,
} from "../../../src/cluster/resources.ts";
import { claimsWebhooks, vmnetWebhooks } from "../../../src/cluster/webhooks.ts";
import type { AnyObject } from "../../../src/kube/meta.ts";
import type { Resource } from "../../../src/kube/resource.ts";

/** By `service`, or by `url` for a controller outside of the cluster; the controller writes the authority. */
type ClientConfig = (path: string) => object;

const failsOpen = { failurePolicy: "Ignore", sideEffects: "None", admissionReviewVersions: ["v1"] } as const;
/** A pod waits for it, so it is short: some reads of a few milliseconds each. The server answers a second before. */
const launcherSeconds = 3;
/** A person waits for it; an unknown network costs a list of all definitions, a new pool some lists. */
const timeoutSeconds = 5;

export function claimsConfigurations(clientConfig: ClientConfig, metadata: object = {}) {
  const { configuration: name, launcher, claim } = claimsWebhooks;
  const ofLaunchers = {
    name: "launcher-pods.claims.holdfast.io",
    clientConfig: clientConfig(launcher),
    rules: rulesOf(pods, "CREATE", "UPDATE"), // UPDATE: a NIC plugged into a running VM
    objectSelector: { matchLabels: { [launcherLabelName]: launcherValue } },
    timeoutSeconds: launcherSeconds,
    ...failsOpen,
    reinvocationPolicy: "IfNeeded", // another webhook may write the networks after us
  };
  const ofClaims = {
    name: "ipamclaims.claims.holdfast.io",
    clientConfig: clientConfig(claim),
    rules: rulesOf(ipamClaims, "CREATE", "UPDATE", "DELETE"),
    timeoutSeconds,
    ...failsOpen,
  };
  return configurations({ name, ...metadata }, [ofLaunchers], [ofClaims]);
}

export function vmnetConfigurations(clientConfig: ClientConfig, metadata: object = {}) {
  const { configuration: name, poolDefaults, pool, networkConfig, definition } = vmnetWebhooks;
  const webhook = (of: string, path: string, resource: Resource, ...operations: readonly string[]) => ({
    name: `${of}.vmnet.holdfast.io`,
    clientConfig: clientConfig(path),
    rules: rulesOf(resource, ...operations),
    timeoutSeconds,
    ...failsOpen,
  });
  const validating = [
    webhook("ippools", pool, managedPools, "CREATE", "UPDATE", "DELETE"),
    webhook("virtualmachinenetworkconfigs", networkConfig, networkConfigs, "CREATE", "UPDATE"),
    webhook("networks", definition, networkAttachmentDefinitions, "CREATE", "UPDATE", "DELETE"),
  ];
  const mutating = [webhook("ippools-defaults", poolDefaults, managedPools, "CREATE")];
  return configurations({ name, ...metadata }, mutating, validating);
}

type Configurations = Readonly<Record<"mutating" | "validating", AnyObject>>;

function configurations(metadata: object, mutating: readonly object[], validating: readonly object[]): Configurations {
  const apiVersion = "admissionregistration.k8s.io/v1";
  return {
    mutating: { apiVersion, kind: "MutatingWebhookConfiguration", metadata, webhooks: mutating },
    validating: { apiVersion, kind: "ValidatingWebhookConfiguration", metadata, webhooks: validating },
  };
}

/** Not of the status: its writer is the controller. */
function rulesOf({ group, version, plural }: Resource, ...operations: readonly string[]) {
  return [{ apiGroups: [group], apiVersions: [version], resources: [plural], operations, scope: "Namespaced" }];
}
