// The answers about a network with managed pools: nobody else may give its addresses, and it stays while VMs have
// some. Every other network is let pass after one look at the pools.
import type { AdmissionReply } from "../../kube/admission/admission-review.ts";
import type { AdmissionHandler } from "../../kube/admission/admission.ts";
import { isTrusted } from "../../kube/admission/requester.ts";
import type { AnyObject } from "../../kube/meta.ts";
import { otherGivers } from "../rules/definition.ts";
import { examineNetworkRemoval } from "../rules/examine-pool.ts";
import { type NetworkRef, networkRef } from "../rules/network-ref.ts";
import { replyTo } from "./reply.ts";
import type { VmnetView } from "./view.ts";

export type DefinitionHandlerView = Pick<VmnetView, "poolsOf" | "configsOf" | "holdsOf">;

/** `self`: the name that the API server knows this controller by. */
export function definitionHandler(view: DefinitionHandlerView, self: () => string): AdmissionHandler {
  return async (request, { signal }) => {
    const { operation, object, oldObject, namespace = "", subResource } = request;
    const name = request.name === "" ? (object?.metadata.name ?? "") : request.name;
    if (subResource !== undefined || name === "" || isTrusted(request, self())) return { allowed: true };
    const network = networkRef(namespace, name);
    if (operation === "DELETE") return deleted(view, network, signal);
    const [before, after] = [configOf(oldObject), configOf(object)];
    if (after === undefined || before === after) return { allowed: true };
    const issues = otherGivers({ config: after }, network);
    // Most networks have an `ipam`: they are looked for among the pools only then.
    if (issues.length === 0 || (await view.poolsOf(network, { signal })).length === 0) return { allowed: true };
    return replyTo("managed DHCP", issues, before === undefined ? [] : otherGivers({ config: before }, network));
  };
}

async function deleted(view: DefinitionHandlerView, network: NetworkRef, signal: AbortSignal): Promise<AdmissionReply> {
  const pools = await view.poolsOf(network, { signal });
  if (pools.length === 0) return { allowed: true };
  const [holds, configs] = await Promise.all([
    view.holdsOf(network.domain, signal),
    view.configsOf(network, { signal }),
  ]);
  const facts = { pools: pools.map(({ key }) => key), holds, configs: configs.map(({ key }) => key) };
  return replyTo(`NetworkAttachmentDefinition ${network.key}`, examineNetworkRemoval(facts));
}

function configOf(object: AnyObject | undefined): string | undefined {
  const config = (object?.["spec"] as { config?: unknown } | undefined)?.config;
  return typeof config === "string" ? config : undefined;
}
