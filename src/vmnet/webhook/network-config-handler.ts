// The answers to a create or change of a network config. Promised: what our controller writes for a VM is let pass,
// also where one NIC is wrong: the object says so in its status, and the others are served.
import { isDeepStrictEqual } from "node:util";

import type { AdmissionReply, AdmissionRequest } from "../../kube/admission/admission-review.ts";
import type { AdmissionHandler } from "../../kube/admission/admission.ts";
import { isTrusted } from "../../kube/admission/requester.ts";
import type { AnyObject } from "../../kube/meta.ts";
import { examineNic, type RivalNic } from "../rules/examine-nic.ts";
import { describeNetworkConfig, type Issue, Issues } from "../rules/issue.ts";
import {
  issuesOf,
  type NetworkConfigReading,
  type NicPlan,
  type NicReading,
  readNetworkConfig,
  wantedIn,
} from "../rules/read-network-config.ts";
import { replyTo } from "./reply.ts";
import type { Reading, VmnetView } from "./view.ts";

export type NetworkConfigHandlerView = Pick<VmnetView, "definition" | "poolsOf" | "configsOf" | "holderOf" | "trusted">;

/** `self`: the name that the API server knows this controller by. */
export function networkConfigHandler(view: NetworkConfigHandlerView, self: () => string): AdmissionHandler {
  return async (request, { signal }) => {
    const { operation, object, oldObject, subResource } = request;
    if (subResource !== undefined || object === undefined || isTrusted(request, self())) return { allowed: true };
    if (operation !== "CREATE" && operation !== "UPDATE") return { allowed: true };
    if (object.metadata.deletionTimestamp !== undefined) return { allowed: true };
    if (operation === "UPDATE" && isDeepStrictEqual(oldObject?.["spec"], object["spec"])) return { allowed: true };
    const before = operation === "UPDATE" && oldObject !== undefined ? readNetworkConfig(oldObject) : undefined;
    const after = readNetworkConfig(asNew(request, object));
    const reply = await judged(view, after, before, { signal, mayBeOld: true });
    return reply.allowed ? reply : judged(view, after, before, { signal });
  };
}

/** What is asked for now is not older than any other request, whenever the object was made. */
function asNew({ namespace = "", name }: AdmissionRequest, object: AnyObject): AnyObject {
  const metadata = { ...object.metadata, namespace, name: object.metadata.name ?? name, creationTimestamp: "" };
  return { ...object, metadata };
}

async function judged(
  view: NetworkConfigHandlerView,
  after: NetworkConfigReading,
  before: NetworkConfigReading | undefined,
  from: Reading,
): Promise<AdmissionReply> {
  const known = new Set((before?.nics ?? []).flatMap(({ plan }) => (plan === undefined ? [] : [identityOf(plan)])));
  const fresh = after.nics.filter(({ plan }) => plan !== undefined && !known.has(identityOf(plan)));
  const found = await Promise.all(fresh.map((nic) => around(view, after, nic, from)));
  const issues = [...issuesOf(after), ...renamed(before, after), ...found.flat()];
  return replyTo(describeNetworkConfig(after), issues, before === undefined ? [] : issuesOf(before));
}

function identityOf(nic: NicPlan): string {
  return [nic.network.key, nic.mac, ...wantedIn(nic).map(({ address }) => `${address}`)].join(" ");
}

function renamed(before: NetworkConfigReading | undefined, after: NetworkConfigReading): readonly Issue[] {
  const issues = new Issues();
  if (before !== undefined && before.vmName !== after.vmName) {
    const message = `it is ${before.vmName} and cannot become ${after.vmName}: make another network config, and delete this one.`;
    issues.error("immutable", "spec.vmName", message);
  }
  return issues.list;
}

async function around(
  view: NetworkConfigHandlerView,
  config: NetworkConfigReading,
  { plan: nic, index }: NicReading,
  from: Reading,
): Promise<readonly Issue[]> {
  if (nic === undefined) return [];
  const { network } = nic;
  const [definition, pools, configs, ...holders] = await Promise.all([
    view.definition(network, from.signal),
    view.poolsOf(network, from),
    view.configsOf(network, from),
    ...wantedIn(nic).map(({ address }) => view.holderOf(network.domain, address, from.signal)),
  ]);
  return examineNic({
    config,
    nic,
    field: `spec.networkConfigs[${index}]`,
    definition,
    pools: pools.flatMap(({ plan }) => plan ?? []),
    rivals: configs.filter(({ key }) => key !== config.key).flatMap((each) => rivalsIn(each, network.key)),
    holders: holders.filter((each) => each !== undefined),
    trusted: view.trusted,
  });
}

/** The NICs of another network config on the network. */
function rivalsIn({ key, createdAt, nics }: NetworkConfigReading, network: string): readonly RivalNic[] {
  return nics.flatMap(({ plan }) => {
    if (plan?.network.key !== network) return [];
    const { mac, wanted, wantedIpv6 } = plan;
    return [{ config: key, createdAt, mac, ...(wanted && { wanted }), ...(wantedIpv6 && { wantedIpv6 }) }];
  });
}
