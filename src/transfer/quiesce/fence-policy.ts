// A ValidatingAdmissionPolicy that lets nobody but this migration write pools and records. It stays when the migration is
// killed: what is half moved must not be handed out from by a writer that knows neither pause nor lease.
//
// Needs Kubernetes 1.30. Whether it is in force is asked of the server itself, with a write that is denied to everybody, as a dry run.
import { ipPools, type StoredPool } from "../../cluster/resources.ts";
import { sleep } from "../../kube/clock.ts";
import { whoAmI } from "../../kube/config/who-am-i.ts";
import { isApiError } from "../../kube/errors.ts";
import type { AnyObject, KubeObject } from "../../kube/meta.ts";
import { defineResource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import { TransferError } from "../error.ts";
import type { FenceOptions } from "./fence-pause.ts";

const admission = { group: "admissionregistration.k8s.io", version: "v1", namespaced: false } as const;
const policies = defineResource<AnyObject>({
  ...admission,
  plural: "validatingadmissionpolicies",
  kind: "ValidatingAdmissionPolicy",
});
const bindings = defineResource<AnyObject>({
  ...admission,
  plural: "validatingadmissionpolicybindings",
  kind: "ValidatingAdmissionPolicyBinding",
});
const policyName = "holdfast-migrate";
const migrationAnnotation = "holdfast.io/migration";
const probeName = "holdfast-migrate-probe";
/** The server learns of a policy within a second or two; a minute is a server that does not. */
const probesMax = 300;
const probeEveryMs = 200;

/** False where the server has no such kind: the caller must be content with waiting. */
export async function raisePolicy(options: FenceOptions): Promise<boolean> {
  const { client, signal } = options;
  const user = await whoAmI(client, signal);
  if (user === undefined) return false;
  for (const [resource, object] of [
    [policies, policyObject(options.id, user)],
    [bindings, bindingObject(options.id)],
  ] as const) {
    try {
      await client.create(resource, object, { signal });
    } catch (error) {
      if (isApiError(error, "not-found", "unsupported")) return false;
      if (!isApiError(error, "already-exists")) throw error;
      const there = await client.get(resource, { name: policyName }, { signal });
      refuseAnothers(there, options.id);
      const { resourceVersion = "" } = there.metadata;
      await client.update(resource, { ...object, metadata: { ...object.metadata, resourceVersion } }, { signal });
    }
  }
  await untilProbe("denied", options);
  return true;
}

/** Takes away what this migration raised; another's stays. */
export async function lowerPolicy(options: FenceOptions): Promise<void> {
  const { client, id, signal } = options;
  let lowered = false;
  for (const resource of [bindings, policies]) {
    try {
      const there = await client.get(resource, { name: policyName }, { signal });
      if (there.metadata.annotations?.[migrationAnnotation] !== id) continue;
      await client.delete(resource, { name: policyName }, { signal });
      lowered = true;
    } catch (error) {
      if (!isApiError(error, "not-found", "unsupported")) throw error;
    }
  }
  // The server forgets a policy as slowly as it learns of one; whoever is told that writing is free must find it so.
  if (lowered) await untilProbe("allowed", options);
}

/** The id of the migration whose policy is in force; undefined: none is. */
export async function policyOwner(client: KubeClient, signal: AbortSignal): Promise<string | undefined> {
  // Who may not read policies cannot have raised one.
  const get = client.get(policies, { name: policyName }, { signal });
  const there = await unless(["not-found", "unsupported", "forbidden"], get);
  return there && (there.metadata.annotations?.[migrationAnnotation] ?? "(nobody's)");
}

function policyObject(id: string, user: string): AnyObject {
  const rule = (group: string, resources: string[]) => ({
    apiGroups: [group],
    apiVersions: ["*"],
    operations: ["CREATE", "UPDATE", "DELETE"],
    resources,
  });
  return {
    metadata: { name: policyName, annotations: { [migrationAnnotation]: id } },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [
          rule("whereabouts.cni.cncf.io", [
            "ippools",
            "ippools/status",
            "overlappingrangeipreservations",
            "overlappingrangeipreservations/status",
          ]),
          rule("holdfast.io", ["holds"]),
        ],
      },
      validations: [
        {
          // A CEL string is written like one of JSON.
          expression: `request.userInfo.username == ${JSON.stringify(user)}`,
          message: `holdfast migrate ${id} moves the pools: nobody else writes them until it ends. holdfast migrate plan says how to end it`,
        },
        {
          expression: `request.operation != "CREATE" || object.metadata.name != ${JSON.stringify(probeName)}`,
          message: inForce(id),
        },
      ],
    },
  };
}

function bindingObject(id: string): AnyObject {
  return {
    metadata: { name: policyName, annotations: { [migrationAnnotation]: id } },
    spec: { policyName, validationActions: ["Deny"] },
  };
}

function refuseAnothers(there: KubeObject, id: string): void {
  const owner = there.metadata.annotations?.[migrationAnnotation];
  if (owner === id) return;
  throw new TransferError(
    "paused-by-another",
    `Migration ${owner ?? "(unknown)"} keeps writers out (ValidatingAdmissionPolicy ${policyName}). End it with its own record (holdfast migrate apply or rollback), ` +
      `or, if its record is lost and nothing is half moved: kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy ${policyName}`,
  );
}

const inForce = (id: string) => `the policy of migration ${id} is in force`;

/** Asks the server until it denies, or no longer denies, what this migration's policy denies to everybody. */
async function untilProbe(
  wanted: "denied" | "allowed",
  { client, clock, systemNamespace, id, signal }: FenceOptions,
): Promise<void> {
  const probe = {
    metadata: { name: probeName, namespace: systemNamespace },
    spec: { range: "192.0.2.0/24", allocations: {} },
  };
  for (let n = 0; n < probesMax; n++) {
    if ((await tryProbe(client, probe, id, signal)) === wanted) return;
    if (!(await sleep(clock, probeEveryMs, signal))) break;
  }
  signal.throwIfAborted();
  const words = `ValidatingAdmissionPolicy ${policyName} should have its writes ${wanted}, and after ${(probesMax * probeEveryMs) / 1000} s has not: see whether the API server has policies switched off.`;
  throw new TransferError("not-quiet", words);
}

async function tryProbe(
  client: KubeClient,
  probe: StoredPool,
  id: string,
  signal: AbortSignal,
): Promise<"denied" | "allowed"> {
  try {
    await client.create(ipPools, probe, { signal, dryRun: true });
    return "allowed";
  } catch (error) {
    if (isApiError(error, "invalid", "forbidden") && error.message.includes(inForce(id))) return "denied";
    // Another's policy, while the server still forgets it.
    if (isApiError(error, "invalid", "forbidden") && error.message.includes(policyName)) return "allowed";
    throw error;
  }
}
