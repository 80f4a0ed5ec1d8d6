// The answers to a create, change or delete of a managed pool: reads what the rules need. Promised: our controller,
// garbage collection and the end of namespaces never wait for a look at the cluster; what changes no spec is let pass.
// A failed read ends the answer with an error, and the API server goes on without us.
import { isDeepStrictEqual } from "node:util";

import type { AdmissionReply, AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { AdmissionHandler } from "../../kube/admission/admission.ts";
import { isTrusted } from "../../kube/admission/requester.ts";
import type { AnyObject } from "../../kube/meta.ts";
import { fillsFor } from "../rules/default-pool.ts";
import { examineChange, examinePool, examineRemoval, type PoolFacts } from "../rules/examine-pool.ts";
import { describePool, type Issue } from "../rules/issue.ts";
import type { PoolPlan } from "../rules/pool-plan.ts";
import { type PoolReading, readPool } from "../rules/read-pool.ts";
import { replyTo } from "./reply.ts";
import type { VmnetView } from "./view.ts";

export type PoolHandlerView = Pick<
  VmnetView,
  "definition" | "poolsOf" | "configsOf" | "holdsOf" | "clusterRanges" | "trusted"
>;

/** Fills in what a new pool leaves out. One that cannot be read stays as it is: validation says why. */
export function poolDefaultsHandler(): AdmissionHandler {
  return async ({ operation, object, subResource }) => {
    if (operation !== "CREATE" || object === undefined || subResource !== undefined) return { allowed: true };
    const { plan } = readPool(object);
    return { allowed: true, ...(plan && { patch: fillsFor(object["spec"], plan) }) };
  };
}

/** `self`: the name that the API server knows this controller by. */
export function poolHandler(view: PoolHandlerView, self: () => string): AdmissionHandler {
  return async (request, { signal }) => {
    const { operation, object, oldObject, subResource } = request;
    if (subResource !== undefined || isTrusted(request, self())) return { allowed: true };
    if (operation === "CREATE" && object !== undefined) return created(view, named(request, object), signal);
    if (operation === "UPDATE" && object !== undefined && oldObject !== undefined) {
      return changed(view, oldObject, object, signal);
    }
    if (operation === "DELETE" && oldObject !== undefined) return deleted(view, oldObject, signal);
    return { allowed: true };
  };
}

/** A new object may have no namespace of its own yet. */
function named({ namespace = "", name }: AdmissionRequest, object: AnyObject): AnyObject {
  return { ...object, metadata: { ...object.metadata, namespace, name: object.metadata.name ?? name } };
}

async function created(view: PoolHandlerView, object: AnyObject, signal: AbortSignal): Promise<AdmissionReply> {
  // It is not older than any other, whatever time the API server has put on it.
  const metadata = { ...object.metadata, creationTimestamp: "" };
  const reading = readPool({ ...object, metadata });
  const found = reading.plan === undefined ? [] : await around(view, reading.plan, undefined, signal);
  return replyTo(describePool(metadata), [...reading.issues, ...found]);
}

async function changed(
  view: PoolHandlerView,
  oldObject: AnyObject,
  object: AnyObject,
  signal: AbortSignal,
): Promise<AdmissionReply> {
  const isEnding = object.metadata.deletionTimestamp !== undefined;
  if (isEnding || isDeepStrictEqual(oldObject["spec"], object["spec"])) return { allowed: true };
  const [before, after] = [readPool(oldObject), readPool(object)];
  const [was, is] = await Promise.all([
    before.plan === undefined ? [] : placed(view, before.plan, signal),
    after.plan === undefined ? [] : around(view, after.plan, before, signal),
  ]);
  return replyTo(describePool(object.metadata), [...after.issues, ...is], [...before.issues, ...was]);
}

/** Beside everything else, and what it would take away from VMs. */
async function around(
  view: PoolHandlerView,
  plan: PoolPlan,
  before: PoolReading | undefined,
  signal: AbortSignal,
): Promise<readonly Issue[]> {
  const [issues, holds] = await Promise.all([placed(view, plan, signal), view.holdsOf(plan.domain, signal)]);
  return [...issues, ...examineChange({ before: before?.plan, after: plan, holds })];
}

async function placed(view: PoolHandlerView, plan: PoolPlan, signal: AbortSignal): Promise<readonly Issue[]> {
  const [definition, pools, clusterRanges] = await Promise.all([
    view.definition(plan.network, signal),
    view.poolsOf(plan.network, { signal }),
    view.clusterRanges(signal),
  ]);
  const others = plansOf(pools).filter(({ key }) => key !== plan.key);
  // A change counts as new: what it would clash with was there before.
  const fresh: PoolPlan = { ...plan, createdAt: "" };
  const facts: PoolFacts = { plan: fresh, definition, others, clusterRanges, trusted: view.trusted };
  return examinePool(facts);
}

function plansOf(pools: readonly PoolReading[]): readonly PoolPlan[] {
  return pools.flatMap(({ plan }) => plan ?? []);
}

/** V19. One that cannot be read serves nobody. */
async function deleted(view: PoolHandlerView, object: AnyObject, signal: AbortSignal): Promise<AdmissionReply> {
  const { plan } = readPool(object);
  if (plan === undefined || object.metadata.deletionTimestamp !== undefined) return { allowed: true };
  const [pools, holds, configs] = await Promise.all([
    view.poolsOf(plan.network, { signal }),
    view.holdsOf(plan.domain, signal),
    view.configsOf(plan.network, { signal }),
  ]);
  const removal = { plan, others: plansOf(pools), holds, configs: configs.map(({ key }) => key) };
  return replyTo(describePool(object.metadata), examineRemoval(removal));
}
