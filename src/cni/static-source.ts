// Where an address can be asked for by number, and the claims that come from there, as text.
import type { Address } from "../net/address.ts";
import type { CniArgs } from "./arguments.ts";
import { maxRequested } from "./by-number.ts";
import type { Findings } from "./config/findings.ts";
import type { IpamConfig } from "./config/ipam-config.ts";
import { formatCidr } from "./config/route.ts";
import { isObject, type JsonObject } from "./json.ts";

export type StaticSource =
  | "ipam.addresses"
  | "CNI_ARGS IP"
  | "runtimeConfig.ips"
  | "args.cni.ips"
  | "network selection"
  | "IPAMClaim";

export interface StaticInputs {
  readonly args?: Pick<CniArgs, "ips" | "gateways">;
  readonly runtimeConfig?: JsonObject;
  /** `args` of the network configuration. */
  readonly configArgs?: JsonObject;
  /** `ips` of the pod's network selection element, where the daemon has read it. */
  readonly selection?: readonly string[];
  /** What the claim that the pod goes by, or its VM, asks for. */
  readonly claim?: readonly string[];
  /** CHECK: what was given stays given, whatever the network lets its pods ask for by now. */
  readonly isGiven?: boolean;
}

export interface Claim {
  readonly source: StaticSource;
  /** For the error: where exactly it stands. */
  readonly key: string;
  /** An address, or address/length. */
  readonly text: string;
  readonly gateway?: Address;
}

/** All claims, the configuration's first, then from the least to the most specific to this pod. */
export function claimsOf(config: IpamConfig, inputs: StaticInputs, findings: Findings): Claim[] {
  const cni = inputs.configArgs?.["cni"];
  return [
    ...config.addresses.map(({ cidr, gateway }, index): Claim => {
      const key = `ipam.addresses[${index}].address`;
      return { source: "ipam.addresses", key, text: formatCidr(cidr), ...(gateway && { gateway }) };
    }),
    ...fromList("args.cni.ips", isObject(cni) ? cni["ips"] : undefined, findings),
    ...fromList("runtimeConfig.ips", inputs.runtimeConfig?.["ips"], findings),
    ...fromList("network selection", inputs.selection, findings),
    ...fromList("IPAMClaim", inputs.claim, findings),
    ...fromList("CNI_ARGS IP", inputs.args?.ips, findings),
  ];
}

function fromList(source: StaticSource, value: unknown, findings: Findings): Claim[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.length > maxRequested) {
    findings.refuse(
      source,
      value.length,
      `one interface has no use for so many addresses; ask for ${maxRequested} at most`,
    );
    return [];
  }
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) {
    return value.map((text, index) => ({ source, key: `${source}[${index}]`, text }));
  }
  findings.refuse(source, value, 'write a list of addresses, like ["10.0.0.7/24"]');
  return [];
}
