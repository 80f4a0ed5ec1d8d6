// The first interface of a launcher pod where the namespace's primary network is user-defined: its claim, and what
// OVN-Kubernetes is told of requested addresses and MAC. Pure.
import { addressesAnnotation } from "../../api/claims/claim-marks.ts";
import { macOf, type VirtualMachineInstance, type VmNetwork } from "../../api/claims/kubevirt.ts";
import { readRequested } from "../../api/claims/requested-addresses.ts";
import { referenceKey } from "../../cni/claim-references.ts";
import { commaList, isObject } from "../../cni/json.ts";
import { parseKey } from "../../kube/meta.ts";
import { parseAddress } from "../../net/address.ts";
import { contains, parseCidr, type Prefix } from "../../net/prefix.ts";

export function podNetworkOf({ spec }: VirtualMachineInstance): VmNetwork | undefined {
  return (spec?.networks ?? []).find(({ pod }) => pod !== undefined);
}

export interface PrimaryFacts {
  readonly vmi: VirtualMachineInstance;
  readonly network: VmNetwork;
  readonly claim: string;
  readonly config: string;
  /** namespace/name of OVN-Kubernetes' definition of the first interface; undefined: none, or more than one. */
  readonly first: string | undefined;
}

export interface FirstSelection {
  /** Text of the annotation v1.multus-cni.io/default-network; undefined: none is needed, or none can be made. */
  readonly text?: string;
  /** In a sentence why none can be made although something was asked for. */
  readonly why: string;
}

/** Addresses carry the length of their own subnet: with another they would not be on the link. */
export function firstSelection({ vmi, network, claim, config, first }: PrimaryFacts): FirstSelection {
  const asked = readRequested(vmi.metadata.annotations?.[addressesAnnotation], network.name).addresses;
  const mac = macOf(network.name, vmi.spec ?? {});
  if (asked.length === 0 && mac === undefined) return { why: "" };
  if (first === undefined) {
    return {
      why: `network ${network.name}: the cluster has not exactly one definition named default, so neither address nor MAC can be asked for`,
    };
  }
  const subnets = subnetsOf(config);
  const ips = asked.map((text) => ({ text, full: withLength(text, subnets) }));
  const outside = ips.find(({ full }) => full === undefined);
  if (outside !== undefined) {
    return { why: `network ${network.name}: ${outside.text} is no address of ${subnets.join(", ") || "its subnets"}` };
  }
  const element = {
    ...parseKey(first),
    ...(ips.length > 0 && { ips: ips.map(({ full }) => full) }),
    ...(mac !== undefined && { mac }),
    [referenceKey]: claim,
  };
  return { text: JSON.stringify([element]), why: "" };
}

function subnetsOf(config: string): readonly Prefix[] {
  try {
    const value: unknown = JSON.parse(config);
    return commaList(isObject(value) ? value["subnets"] : "").map((each) => parseCidr(each).prefix);
  } catch {
    return [];
  }
}

/** Also of an address that was written with a length already. */
function withLength(text: string, subnets: readonly Prefix[]): string | undefined {
  try {
    const address = parseAddress(text.split("/", 1)[0] ?? "");
    const subnet = subnets.find((each) => each.family === address.family && contains(each, address));
    return subnet === undefined ? undefined : `${address}/${subnet.length}`;
  } catch {
    return undefined;
  }
}
