// Spiderpool's records, group spiderpool.spidernet.io, version v2beta1 (0.6 to 1.0): SpiderIPPool (cluster-wide), whose
// status.allocatedIPs is a JSON text { address: { pod: namespace/name, podUid, interface in older versions } };
// SpiderEndpoint (named as its pod), whose status.current has the pod's uid and, for each NIC, `interface`, `ipv4` and
// `ipv6` as address/length; and SpiderReservedIP, whose spec.ips are addresses and A-B ranges that are given to nobody.
import { tryAddress } from "../../api/holds/address-name.ts";
import { isObject, type JsonObject, textOf } from "../../cni/json.ts";
import type { PodOwner } from "../../ipam/owner.ts";
import type { AnyObject } from "../../kube/meta.ts";
import { attempt } from "../../net/coded-error.ts";
import type { Foreign, ForeignAllocation } from "./foreign.ts";

type Objects = Readonly<Record<"pools" | "endpoints" | "reserved", readonly AnyObject[]>>;

export function readSpiderpool({ pools, endpoints, reserved }: Objects): Foreign {
  const notes: string[] = [];
  /** Key: an address. The endpoint knows the interface, which newer pools do not say. */
  const found = new Map<string, ForeignAllocation>();
  for (const each of endpoints.flatMap(endpointAllocations)) found.set(`${each.address}`, each);
  for (const pool of pools) {
    const status = isObject(pool["status"]) ? pool["status"] : {};
    for (const [text, entry] of Object.entries(allocatedOf(pool, status, notes))) {
      const address = tryAddress(text);
      const owner = isObject(entry) ? ownerOf(entry) : undefined;
      const source = `SpiderIPPool ${pool.metadata.name}`;
      if (address === undefined || owner === undefined)
        notes.push(`${source}: ${JSON.stringify(text)} is no entry of an address: it is passed over.`);
      else if (!found.has(`${address}`)) found.set(`${address}`, { address, owner, source });
    }
  }
  for (const { metadata, spec } of reserved as (AnyObject & { spec?: { ips?: string[] } })[]) {
    const remedy = `write it into the definition's "exclude"`;
    for (const block of spec?.ips ?? [])
      notes.push(`SpiderReservedIP ${metadata.name} keeps ${block} from everybody: ${remedy}.`);
  }
  return { allocations: [...found.values()], notes };
}

function allocatedOf(pool: AnyObject, status: JsonObject, notes: string[]): JsonObject {
  const text = status["allocatedIPs"];
  if (text === undefined || text === null || text === "") return {};
  const value = typeof text === "string" ? attempt(SyntaxError, () => JSON.parse(text) as unknown) : text;
  if (isObject(value)) return value;
  const fault = "status.allocatedIPs is no JSON object; only its SpiderEndpoints are taken over";
  notes.push(`SpiderIPPool ${pool.metadata.name}: ${fault}.`);
  return {};
}

function ownerOf(entry: JsonObject): PodOwner | undefined {
  const [namespace = "", name = ""] = textOf(entry["pod"]).split("/");
  if (name === "") return undefined;
  const face = textOf(entry["interface"]);
  return { kind: "pod", uid: textOf(entry["podUid"]), namespace, name, interface: face === "" ? "eth0" : face };
}

function endpointAllocations(endpoint: AnyObject): ForeignAllocation[] {
  const { namespace = "", name = "" } = endpoint.metadata;
  const current = (endpoint["status"] as { current?: { uid?: string; ips?: unknown[] } } | undefined)?.current;
  return (current?.ips ?? []).filter(isObject).flatMap((nic) => {
    const face = typeof nic["interface"] === "string" ? nic["interface"] : "eth0";
    const owner: PodOwner = { kind: "pod", uid: current?.uid ?? "", namespace, name, interface: face };
    return [nic["ipv4"], nic["ipv6"]].flatMap((text) => {
      const address = typeof text === "string" ? tryAddress(text.split("/")[0] ?? "") : undefined;
      return address === undefined ? [] : [{ address, owner, source: `SpiderEndpoint ${namespace}/${name}` }];
    });
  });
}
