// A ValidatingAdmissionPolicy that lets nobody but this migration write pools and records. It stays when the migration
// is killed: a writer that knows neither pause nor lease must not hand out from a half-moved pool. Needs Kubernetes
// 1.30. The server itself says whether it is in force, by a write that is denied to everybody, as a dry run.
import { ipPools } from "../../cluster/resources.ts";
import { sleep } from "../../kube/clock.ts";
import { whoAmI } from "../../kube/config/who-am-i.ts";
import { isApiError } from "../../kube/errors.ts";
import type { AnyObject, KubeObject } from "../../kube/meta.ts";
import { defineResource } from "../../kube/resource.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { unless } from "../../kube/unless.ts";
import { TransferError } from "../error.ts";
import type { FenceOptions } from "./fence-pause.ts";

const of = (kind: string, plural: string) =>
  defineResource<AnyObject>({ group: "admissionregistration.k8s.io", version: "v1", namespaced: false, plural, kind });
const policies = of("ValidatingAdmissionPolicy", "validatingadmissionpolicies");
const bindings = of("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings");
const policyName = "holdfast-migrate";
const migrationAnnotation = "holdfast.io/migration";
const probeName = "holdfast-migrate-probe";
/** The server learns of a policy within a second or two; a minute is a server that does not. */
const probesMax = 300;
const probeEveryMs = 200;

/** False where the server has no such kind: the caller must be content with waiting. */
export async function raisePolicy(options: FenceOptions): Promise<boolean> {
  const { client, id, signal } = options;
  const user = await whoAmI(client, signal);
  if (user === undefined) return false;
  const metadata = { name: policyName, annotations: { [migrationAnnotation]: id } };
  for (const [resource, spec] of [
    [policies, policySpec(id, user)],
    [bindings, { policyName, validationActions: ["Deny"] }],
  ] as const) {
    const object = { metadata, spec };
    try {
      await client.create(resource, object, { signal });
    } catch (error) {
      if (isApiError(error, "not-found", "unsupported")) return false;
      if (!isApiError(error, "already-exists")) throw error;
      const there = await client.get(resource, { name: policyName }, { signal });
      refuseAnothers(there, id);
      const { resourceVersion = "" } = there.metadata;
      await client.update(resource, { spec, metadata: { ...metadata, resourceVersion } }, { signal });
    }
  }
  await untilProbe("denied", options);
  return true;
}

/** Takes away what this migration raised; another's stays. */
export async function lowerPolicy(options: FenceOptions): Promise<void> {
  const { client, id, signal } = options;
  let lowered = false;
  const absent = ["not-found", "unsupported"] as const;
  for (const resource of [bindings, policies]) {
    const there = await unless(absent, client.get(resource, { name: policyName }, { signal }));
    if (there?.metadata.annotations?.[migrationAnnotation] !== id) continue;
    await unless(absent, client.delete(resource, { name: policyName }, { signal }));
    lowered = true;
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

function policySpec(id: string, user: string) {
  const operations = ["CREATE", "UPDATE", "DELETE"];
  const rule = (group: string, resources: string[]) => ({
    apiGroups: [group],
    apiVersions: ["*"],
    operations,
    resources,
  });
  const records = "overlappingrangeipreservations";
  return {
    failurePolicy: "Fail",
    matchConstraints: {
      resourceRules: [
        rule("whereabouts.cni.cncf.io", ["ippools", "ippools/status", records, `${records}/status`]),
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
  };
}

function refuseAnothers(there: KubeObject, id: string): void {
  const owner = there.metadata.annotations?.[migrationAnnotation];
  if (owner === id) return;
  const fault = `Migration ${owner ?? "(unknown)"} keeps writers out (ValidatingAdmissionPolicy ${policyName}). End it with its own record (holdfast migrate apply or rollback),`;
  const remedy = `or, if its record is lost and nothing is half moved: kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy ${policyName}`;
  throw new TransferError("paused-by-another", `${fault} ${remedy}`);
}

const inForce = (id: string) => `the policy of migration ${id} is in force`;

/** Asks the server until it denies, or no longer denies, what this migration's policy denies to everybody. */
async function untilProbe(wanted: "denied" | "allowed", options: FenceOptions): Promise<void> {
  const { clock, signal } = options;
  for (let n = 0; n < probesMax; n++) {
    if ((await tryProbe(options)) === wanted) return;
    if (!(await sleep(clock, probeEveryMs, signal))) break;
  }
  signal.throwIfAborted();
  const words = `ValidatingAdmissionPolicy ${policyName} should have its writes ${wanted}, and after ${(probesMax * probeEveryMs) / 1000} s has not: see whether the API server has policies switched off.`;
  throw new TransferError("not-quiet", words);
}

async function tryProbe({
  client,
  systemNamespace: namespace,
  id,
  signal,
}: FenceOptions): Promise<"denied" | "allowed"> {
  const probe = { metadata: { name: probeName, namespace }, spec: { range: "192.0.2.0/24", allocations: {} } };
  try {
    await client.create(ipPools, probe, { signal, dryRun: true });
    return "allowed";
  } catch (error) {
    if (!isApiError(error, "invalid", "forbidden")) throw error;
    if (error.message.includes(inForce(id))) return "denied";
    // Another's policy, while the server still forgets it.
    if (error.message.includes(policyName)) return "allowed";
    throw error;
  }
}
