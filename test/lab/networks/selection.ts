// Which networks a pod asks for: the annotation `k8s.v1.cni.cncf.io/networks`, in both of its forms.
// Kubernetes Network Custom Resource Definition De-facto Standard, section 4.1.

export const networksAnnotation = "k8s.v1.cni.cncf.io/networks";

export interface Selection {
  /** The NetworkAttachmentDefinition. */
  readonly namespace: string;
  readonly name: string;
  /** The interface's name in the pod: what was asked for, or net1, net2, ... by position. */
  readonly interface: string;
  readonly mac?: string;
  readonly ips?: readonly string[];
  readonly cniArgs?: Readonly<Record<string, unknown>>;
  readonly ipamClaimReference?: string;
}

class SelectionError extends Error {
  override readonly name = "SelectionError";
  readonly code = "InvalidNetworks";

  constructor(reason: string) {
    super(`the pod's annotation ${networksAnnotation} is not valid: ${reason}`);
  }
}

const label = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
/** IFNAMSIZ is 16 with the closing zero; a slash, a colon or a blank is refused by the kernel. */
const interfaceName = /^[^\s/:]{1,15}$/;

export function parseSelections(annotation: string | undefined, podNamespace: string): Selection[] {
  const text = annotation?.trim() ?? "";
  if (text === "") return [];
  const raw = text.startsWith("[") ? parseJson(text) : text.split(",").map(parseShort);
  const selections = raw.map((element, index) => toSelection(element, index, podNamespace));
  const names = selections.map((selection) => selection.interface);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new SelectionError(`two networks want the interface ${twice}`);
  return selections;
}

/** `[namespace/]name[@interface]` */
function parseShort(text: string): Record<string, unknown> {
  const match = /^(?:([^/@]+)\/)?([^/@]+)(?:@([^/@]+))?$/.exec(text.trim());
  if (match === null) throw new SelectionError(`"${text.trim()}" is not [namespace/]name[@interface]`);
  const [, namespace, name, wantedInterface] = match;
  return { namespace, name, interface: wantedInterface };
}

function parseJson(text: string): Record<string, unknown>[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SelectionError((error as Error).message);
  }
  if (!Array.isArray(value)) throw new SelectionError("it is not a list");
  return value.map((element: unknown) => {
    if (!isRecord(element)) throw new SelectionError("an element is not an object");
    return element;
  });
}

function toSelection(element: Record<string, unknown>, index: number, podNamespace: string): Selection {
  const namespace = stringAt(element, "namespace") ?? podNamespace;
  const name = stringAt(element, "name");
  const wantedInterface = stringAt(element, "interface") ?? `net${index + 1}`;
  if (name === undefined) throw new SelectionError(`element ${index} has no name`);
  if (!label.test(namespace) || !label.test(name))
    throw new SelectionError(`"${namespace}/${name}" is no object's name`);
  if (!interfaceName.test(wantedInterface)) throw new SelectionError(`"${wantedInterface}" is no interface's name`);
  const mac = stringAt(element, "mac");
  const ips = addresses(element["ips"], index);
  const cniArgs = element["cni-args"];
  if (cniArgs !== undefined && !isRecord(cniArgs))
    throw new SelectionError(`cni-args of element ${index} is no object`);
  const ipamClaimReference = stringAt(element, "ipam-claim-reference");
  if (ips !== undefined && ipamClaimReference !== undefined) {
    throw new SelectionError(`element ${index} has both ips and ipam-claim-reference`);
  }
  if (element["default-route"] !== undefined) throw new SelectionError("the lab does not know default-route");
  return {
    namespace,
    name,
    interface: wantedInterface,
    ...(mac !== undefined && { mac }),
    ...(ips !== undefined && { ips }),
    ...(cniArgs !== undefined && { cniArgs }),
    ...(ipamClaimReference !== undefined && { ipamClaimReference }),
  };
}

function stringAt(element: Record<string, unknown>, key: string): string | undefined {
  const value = element[key];
  if (value === undefined || value === "") return undefined;
  if (typeof value !== "string") throw new SelectionError(`${key} is not a string`);
  return value;
}

function addresses(value: unknown, index: number): string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((each) => typeof each === "string")) {
    throw new SelectionError(`ips of element ${index} is not a list of strings`);
  }
  return value.length === 0 ? undefined : value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
