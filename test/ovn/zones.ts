// Zones and VMs for tests: three nodes in dual stack, numbered as in facts of a real OVN-Kubernetes, as one zone or as
// three; and one VM, vm1 of namespace t, with its home on n1.
import { parseAddress } from "../../src/net/address.ts";
import { parseMac } from "../../src/net/mac.ts";
import { parseCidr, parsePrefix } from "../../src/net/prefix.ts";
import type { VmPlacement, VmPort } from "../../src/ovn/vm/placement.ts";
import { featuresOf, type OvnFeatures } from "../../src/ovn/zone/features.ts";
import type { Zone, ZoneNode } from "../../src/ovn/zone/zone.ts";

export const newest = featuresOf({ major: 25, minor: 3 });
export const oldest = featuresOf({ major: 23, minor: 3 });

/** Node n1 has 10.244.0.0/24 and so on; `localTo`: the zone's only node, or undefined with one zone for all. */
function nodeNamed(name: string, localTo: string | undefined): ZoneNode {
  const id = Number(name.slice(1));
  const transit = [`100.88.0.${id + 1}`, `fd97::${id + 1}`].map((each) => parseAddress(each));
  return {
    name,
    chassis: `chassis-${name}`,
    id: id + 1,
    isLocal: localTo === undefined || localTo === name,
    subnets: [parsePrefix(`10.244.${id - 1}.0/24`), parsePrefix(`fd10:244:0:${id}::/64`)],
    joinAddresses: [parseAddress(`100.64.0.${id + 1}`), parseAddress(`fd98::${id + 1}`)],
    transitAddresses: localTo === undefined ? [] : transit,
    gateway: {
      mac: parseMac(`02:00:00:00:01:0${id}`),
      addresses: [parseCidr(`172.30.0.${id}/24`), parseCidr(`fd00:30::${id}/64`)],
      nextHops: [parseAddress("172.30.0.254"), parseAddress("fd00:30::ff")],
      interfaceId: `breth0_${name}`,
      physicalNetwork: "physnet",
      vlan: undefined,
      masks: true,
    },
    managementMac: parseMac(`02:00:00:00:02:0${id}`),
  };
}

interface ZoneOptions {
  readonly names?: readonly string[];
  /** Interconnected: the node that the zone is of. */
  readonly of?: string;
  readonly features?: OvnFeatures;
}

export function zoneOf({ names = ["n1", "n2", "n3"], of, features = newest }: ZoneOptions = {}): Zone {
  return {
    nodes: names.map((name) => nodeNamed(name, of)),
    clusterSubnets: [parsePrefix("10.244.0.0/16"), parsePrefix("fd10:244::/48")],
    joinSubnets: [parsePrefix("100.64.0.0/16"), parsePrefix("fd98::/64")],
    transitSubnets: of === undefined ? [] : [parsePrefix("100.88.0.0/16"), parsePrefix("fd97::/64")],
    dnsServers: [parseAddress("10.96.0.10")],
    mtu: 1400,
    features,
  };
}

/** `vl-a@n1`: a pod and its node. The first of the active one carries the traffic. */
export function vmAt(
  ports: readonly string[],
  active: string | undefined,
  more: Partial<VmPlacement> = {},
): VmPlacement {
  const parsed = ports.map((each): VmPort => {
    const [podName, node] = each.split("@") as [string, string];
    return { podName, podUid: `uid-${podName}`, node, isActive: each === active };
  });
  return {
    namespace: "t",
    name: "vm1",
    mac: parseMac("0a:58:0a:f4:00:04"),
    addresses: [
      { address: parseAddress("10.244.0.4"), subnet: parsePrefix("10.244.0.0/24") },
      { address: parseAddress("fd10:244:0:1::4"), subnet: parsePrefix("fd10:244:0:1::/64") },
    ],
    homeNode: "n1",
    activeNode: active?.split("@")[1],
    ports: parsed,
    ...more,
  };
}
