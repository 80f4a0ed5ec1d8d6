// Whether a network attachment definition lets addresses stay with virtual machines, and what it is called: read of every definition, also of those whose
// addresses others give, since their claims are made here too. Pure and lenient: what cannot be read allows nothing, with the reason.
import { isObject, type JsonObject } from "./json.ts";

export interface Persistence {
  /** The name in the CNI configuration: `spec.network` of a claim. */
  readonly network: string;
  /** `allowPersistentIPs`, and nothing forbids it. */
  readonly isAllowed: boolean;
  /** `role` is primary: it takes the place of the pod network in its namespace. */
  readonly isPrimary: boolean;
  /** Our IPAM gives its addresses. */
  readonly isOurs: boolean;
  /** In a sentence why it is not allowed although it is asked for, or why the text cannot be read; empty: nothing is wrong. */
  readonly problem: string;
}

const nothing: Persistence = { network: "", isAllowed: false, isPrimary: false, isOurs: false, problem: "" };
const ourTypes: ReadonlySet<unknown> = new Set(["holdfast", "whereabouts"]);

export function persistenceOf(text: string): Persistence {
  let whole: unknown;
  try {
    whole = JSON.parse(text);
  } catch (error) {
    return { ...nothing, problem: `its config is no JSON (${error instanceof Error ? error.message : String(error)})` };
  }
  if (!isObject(whole)) return { ...nothing, problem: "its config is no object" };
  const listed = Array.isArray(whole["plugins"]) ? whole["plugins"].filter(isObject) : [];
  const plugins = listed.length > 0 ? listed : [whole];
  const asks = [whole, ...plugins].some((each) => asksForIt(each));
  const network = nameOf(whole) || (plugins.map(nameOf).find((name) => name !== "") ?? "");
  const isPrimary = plugins.some((each) => each["role"] === "primary");
  const isOurs = plugins.some(({ ipam }) => isObject(ipam) && ourTypes.has(ipam["type"]));
  const problem = asks ? obstacle(network, plugins, isOurs) : "";
  return { network, isAllowed: asks && problem === "", isPrimary, isOurs, problem };
}

/** Beside the plugin's own keys, where OVN-Kubernetes has it, or in its ipam. */
function asksForIt({ allowPersistentIPs, ipam }: JsonObject): boolean {
  return allowPersistentIPs === true || (isObject(ipam) && ipam["allowPersistentIPs"] === true);
}

function nameOf({ name }: JsonObject): string {
  return typeof name === "string" ? name : "";
}

/** OVN's rules: an address of layer 3 is of its node's subnet and cannot follow a VM; without subnets there is none to keep. */
function obstacle(network: string, plugins: readonly JsonObject[], isOurs: boolean): string {
  if (network === "") return "its config has no name, which a claim would refer to: write one";
  const ovn = plugins.find(({ topology, type }) => typeof topology === "string" || type === "ovn-k8s-cni-overlay");
  if (ovn === undefined) return "";
  if (ovn["topology"] === "layer3") {
    return "allowPersistentIPs does not go with topology layer3, whose addresses belong to nodes: use layer2 or localnet";
  }
  const hasSubnets = typeof ovn["subnets"] === "string" && ovn["subnets"].trim() !== "";
  if (hasSubnets || (isOurs && hasRange(ovn))) return "";
  return "allowPersistentIPs needs subnets to take addresses from: write them, or leave the key out";
}

function hasRange({ ipam }: JsonObject): boolean {
  return isObject(ipam) && ["range", "ipRanges", "addresses"].some((key) => ipam[key] !== undefined);
}
