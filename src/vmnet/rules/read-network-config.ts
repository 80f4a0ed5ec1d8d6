// What a network config asks for: one request per NIC, each read by itself, so that a bad one never stops the others.
// Pure; no content makes it throw. `networkConfig`, the former name of the list, is read where the new one is absent.
import type { ReadMetadata } from "../../api/metadata.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { type Mac, parseMac } from "../../net/mac.ts";
import { type Fields, fieldsOf, flagOf, listOf, parsed, show, textOf } from "./fields.ts";
import { type Issue, Issues } from "./issue.ts";
import { type NetworkRef, readNetworkRef } from "./network-ref.ts";

/** A network config as the API server, a cache or a file has it. */
export interface NetworkConfigObject {
  readonly metadata: ReadMetadata & { readonly creationTimestamp?: string | undefined };
  readonly spec?: unknown;
}

/** The request of one NIC; nothing in it is wrong. */
export interface NicPlan {
  readonly network: NetworkRef;
  /** Lower case, with colons. */
  readonly mac: Mac;
  /** The IPv4 address that is asked for; absent: any. */
  readonly wanted?: Address;
  /** The IPv6 address that is asked for; absent: any, where the network has IPv6. */
  readonly wantedIpv6?: Address;
}

export interface NicReading {
  /** Its place in the list: the same as in the status. */
  readonly index: number;
  /** As they were written, for the status of a NIC that cannot be read. */
  readonly networkName: string;
  readonly macAddress: string;
  /** Undefined: one of its issues is an error. */
  readonly plan: NicPlan | undefined;
  readonly issues: readonly Issue[];
}

export interface NetworkConfigReading {
  readonly namespace: string;
  readonly name: string;
  /** namespace/name */
  readonly key: string;
  readonly uid: string;
  readonly createdAt: string;
  /** The VM; where none is named, the object's own name. */
  readonly vmName: string;
  readonly paused: boolean;
  readonly nics: readonly NicReading[];
  /** Of the object as a whole; those of NICs are theirs. */
  readonly issues: readonly Issue[];
}

export function readNetworkConfig({ metadata, spec }: NetworkConfigObject): NetworkConfigReading {
  const issues = new Issues();
  const fields = fieldsOf(spec, "spec", issues);
  const { namespace = "", name = "", uid = "", creationTimestamp: createdAt = "" } = metadata;
  const nics = withoutRepeats(requestsIn(fields, issues).map(readNic));
  if (nics.length === 0 && !issues.hasErrors) {
    const message = "it has no NIC; write networkName and macAddress of at least one, or delete the object.";
    issues.tolerate("no-nics", "spec.networkConfigs", message);
  }
  const vmName = textOf(fields["vmName"], "spec.vmName", issues);
  if (vmName === undefined) issues.tolerate("missing", "spec.vmName", "it is missing; write the name of the VM.");
  const paused = flagOf(fields["paused"], "spec.paused", issues);
  const key = `${namespace}/${name}`;
  return { namespace, name, key, uid, createdAt, vmName: vmName ?? name, paused, nics, issues: issues.list };
}

/** Every issue: the object's, then each NIC's. */
export function issuesOf({ issues, nics }: NetworkConfigReading): readonly Issue[] {
  return [...issues, ...nics.flatMap((nic) => nic.issues)];
}

interface WrittenNic {
  readonly value: unknown;
  readonly index: number;
  readonly field: string;
}

function requestsIn(spec: Fields, issues: Issues): readonly WrittenNic[] {
  const today = listOf(spec["networkConfigs"], "spec.networkConfigs", issues);
  const former = listOf(spec["networkConfig"], "spec.networkConfig", issues);
  const [key, values] = today.length > 0 || former.length === 0 ? ["networkConfigs", today] : ["networkConfig", former];
  if (today.length > 0 && former.length > 0 && JSON.stringify(today) !== JSON.stringify(former)) {
    const message = "it is given beside spec.networkConfigs, which counts, and says something else; leave it out.";
    issues.tolerate("given-twice", "spec.networkConfig", message);
  }
  return values.map((value, index) => ({ value, index, field: `spec.${key}[${index}]` }));
}

function readNic({ value, index, field }: WrittenNic): NicReading {
  const issues = new Issues();
  const fields = fieldsOf(value, field, issues);
  const networkName = textOf(fields["networkName"], `${field}.networkName`, issues);
  const macAddress = textOf(fields["macAddress"], `${field}.macAddress`, issues);
  const network = readNetworkRef(networkName, `${field}.networkName`, issues);
  const mac = readMac(macAddress, `${field}.macAddress`, issues);
  const wanted = readWanted(fields, `${field}.ipAddress`, 4, issues);
  const wantedIpv6 = readWanted(fields, `${field}.ipv6Address`, 6, issues);
  const isWhole = network !== undefined && mac !== undefined && !issues.hasErrors;
  return {
    index,
    networkName: networkName ?? "",
    macAddress: macAddress ?? "",
    plan: isWhole ? { network, mac, ...(wanted && { wanted }), ...(wantedIpv6 && { wantedIpv6 }) } : undefined,
    issues: issues.list,
  };
}

function readMac(text: string | undefined, field: string, issues: Issues): Mac | undefined {
  if (text === undefined) {
    issues.error("missing", field, "it is missing; write the MAC address of the NIC, like 02:00:0a:00:00:07.");
    return undefined;
  }
  const result = parsed(() => parseMac(text));
  if ("why" in result) {
    issues.error("bad-mac", field, result.why);
    return undefined;
  }
  // A group address is no client's; all zeros is a NIC that has none yet.
  const firstByte = Number.parseInt(result.value.slice(0, 2), 16);
  if (firstByte % 2 === 1 || result.value === "00:00:00:00:00:00") {
    issues.error("bad-mac", field, `${show(text)} is no address of one NIC; write the MAC address that the VM has.`);
    return undefined;
  }
  return result.value;
}

/** Each family has a field of its own: Harvester's definition of the kind lets only IPv4 into `ipAddress`. */
function readWanted(fields: Fields, field: string, family: 4 | 6, issues: Issues): Address | undefined {
  const text = textOf(fields[family === 4 ? "ipAddress" : "ipv6Address"], field, issues);
  if (text === undefined) return undefined;
  const result = parsed(() => parseAddress(text));
  if ("why" in result) {
    issues.error("bad-address", field, result.why);
    return undefined;
  }
  if (result.value.family === family) return result.value;
  const [is, other] = family === 4 ? [6, "ipv6Address"] : [4, "ipAddress"];
  issues.error("bad-address", field, `${show(text)} is an IPv${is} address; write it as ${other}.`);
  return undefined;
}

/** What it asks for by number, with the field that says so. */
export function wantedIn({ wanted, wantedIpv6 }: Pick<NicPlan, "wanted" | "wantedIpv6">) {
  return [
    ...(wanted ? [{ address: wanted, field: "ipAddress" } as const] : []),
    ...(wantedIpv6 ? [{ address: wantedIpv6, field: "ipv6Address" } as const] : []),
  ];
}

/** Of two NICs with one MAC on one network, or with one address, the first counts. */
function withoutRepeats(nics: readonly NicReading[]): readonly NicReading[] {
  const seen = new Map<string, number>();
  return nics.map((nic) => {
    const { plan, index } = nic;
    if (plan === undefined) return nic;
    const claims = [
      { what: plan.mac, key: `${plan.network.key} ${plan.mac}`, field: "macAddress" },
      ...wantedIn(plan).map(({ address, field }) => ({
        what: `${address}`,
        key: `${plan.network.key} ${address}`,
        field,
      })),
    ];
    const repeated = claims.find(({ key }) => seen.has(key));
    if (repeated === undefined) {
      for (const { key } of claims) seen.set(key, index);
      return nic;
    }
    const issues = new Issues();
    const first = seen.get(repeated.key)!;
    const message = `${repeated.what} is NIC ${first}'s on ${plan.network.key} already; leave one of the two out.`;
    issues.error("duplicate-nic", `spec.networkConfigs[${index}].${repeated.field}`, message);
    return { ...nic, plan: undefined, issues: [...nic.issues, ...issues.list] };
  });
}
