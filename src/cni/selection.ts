// The pod's network selection: which network attachment definition an interface is of, and which addresses it asks for.
//
// The multi-network standard, section 4: the annotation k8s.v1.cni.cncf.io/networks is a JSON list of elements, or
// `namespace/name@interface` with commas. An element without an interface gets net1, net2, by its position. Runtimes
// tell a plugin the interface, not the definition: so an element is found by its interface.
import { CniError, errorCodes } from "./error.ts";
import { isObject, textOf } from "./json.ts";

export interface Selection {
  /** Of the network attachment definition. */
  readonly namespace: string;
  readonly name: string;
  readonly interfaceName: string;
  readonly ips: readonly string[];
  /** In lower case with colons. */
  readonly mac?: string;
  /** `ipam-claim-reference`: the name of an IPAMClaim in the pod's namespace. */
  readonly claim?: string;
}

export interface SelectingPod {
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export const networksAnnotation = "k8s.v1.cni.cncf.io/networks";
export const defaultNetworkAnnotation = "v1.multus-cni.io/default-network";
/** The interface of the pod's first network, which every runtime calls so. */
export const firstInterface = "eth0";
/** Multus' own limit is the size of an annotation, 256 KiB; a pod of a thousand interfaces is a mistake. */
const maxSelections = 1000;

/** Undefined where the pod selects no network for this interface. Code 7 where the annotation cannot be read. */
export function selectionOf(pod: SelectingPod, interfaceName: string): Selection | undefined {
  return selectionsOf(pod).find((each) => each.interfaceName === interfaceName);
}

export function selectionsOf(pod: SelectingPod): Selection[] {
  const first = listed(pod, defaultNetworkAnnotation).map((each) => ({ ...each, interfaceName: firstInterface }));
  return [...listed(pod, networksAnnotation), ...first.slice(0, 1)];
}

function listed(pod: SelectingPod, annotation: string): Selection[] {
  const text = (pod.annotations[annotation] ?? "").trim();
  if (text === "") return [];
  const elements = /^[[{]/.test(text) ? jsonElements(pod, annotation, text) : text.split(",").map(shortElement);
  if (elements.length > maxSelections) throw unreadable(pod, annotation, `it has ${elements.length} elements`);
  return elements.map((element, index) => {
    if (element === undefined || element.name === "")
      throw unreadable(pod, annotation, `its element ${index} has no name`);
    const namespace = element.namespace === "" ? pod.namespace : element.namespace;
    return { ...element, namespace, interfaceName: element.interfaceName || `net${index + 1}` };
  });
}

function jsonElements(pod: SelectingPod, annotation: string, text: string): (Selection | undefined)[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unreadable(pod, annotation, `it is no JSON (${cause instanceof Error ? cause.message : String(cause)})`);
  }
  return (Array.isArray(value) ? value : [value]).map((item: unknown) => {
    if (!isObject(item)) return undefined;
    const { name, namespace, interface: interfaceName, ips, mac, "ipam-claim-reference": claim } = item;
    return {
      name: textOf(name),
      namespace: textOf(namespace),
      interfaceName: textOf(interfaceName),
      ips: Array.isArray(ips) ? ips.filter((ip) => typeof ip === "string") : [],
      ...(textOf(mac) !== "" && { mac: textOf(mac).toLowerCase().replaceAll("-", ":") }),
      ...(textOf(claim) !== "" && { claim: textOf(claim) }),
    };
  });
}

function shortElement(text: string): Selection | undefined {
  const [, namespace = "", name = "", interfaceName = ""] =
    /^(?:([^/@]+)\/)?([^/@]+)(?:@([^/@]+))?$/.exec(text.trim()) ?? [];
  return name === "" ? undefined : { namespace, name, interfaceName, ips: [] };
}

export interface IsolationRule {
  /** Multus' namespaceIsolation. */
  readonly isolated: boolean;
  /** Multus' globalNamespaces: their definitions are for everybody. */
  readonly globalNamespaces: readonly string[];
}

/** Multus' rule: an isolated pod uses definitions of its own namespace and of the global ones. Code 101 otherwise. */
export function assertSelectable(pod: SelectingPod, { namespace, name }: Selection, rule: IsolationRule): void {
  if (!rule.isolated || namespace === pod.namespace || rule.globalNamespaces.includes(namespace)) return;
  throw new CniError(
    errorCodes.refused,
    `pod ${pod.namespace}/${pod.name} selects the network ${namespace}/${name} of another namespace, and namespaces are isolated: ` +
      `move the network into ${pod.namespace}, or make ${namespace} one of the global namespaces (--global-namespaces).`,
  );
}

function unreadable(pod: SelectingPod, annotation: string, why: string): CniError {
  const message = `the annotation ${annotation} of pod ${pod.namespace}/${pod.name} cannot be read: ${why}; correct it, and make the pod anew.`;
  return new CniError(errorCodes.badConfiguration, message);
}
