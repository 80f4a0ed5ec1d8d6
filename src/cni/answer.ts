// The result of an ADD: the ranges' addresses in their order, then the static addresses that are in no range.
import { type Address, plus } from "../net/address.ts";
import { Prefix } from "../net/prefix.ts";
import type { IpamConfig } from "./config/ipam-config.ts";
import { gatewayOf } from "./config/pool-definition.ts";
import type { IpamRange } from "./config/range.ts";
import { CniError, errorCodes } from "./error.ts";
import type { CniResult, ResultIp } from "./result.ts";
import type { StaticRequest } from "./static-request.ts";

/**
 * `allocated`: index of the range -> the address taken from it; a range that a static request stands for needs none.
 * The mask is the range's, in slices too, as in whereabouts: the whole network is on the link. Not so where slices are
 * subnets of nodes (OVN's default network): a node's own is on its link, and its router is the first of it. A range
 * without an address is an error (code 101): nobody would notice a pod with half an answer.
 */
export function answerOf(
  config: IpamConfig,
  allocated: ReadonlyMap<number, Address>,
  statics: readonly StaticRequest[] = [],
): CniResult {
  const ranged = config.ranges.map((range, index): ResultIp => {
    const own = gatewayOf(config, range);
    const request = statics.find((candidate) => candidate.range === index);
    if (request !== undefined) return staticIp(request, request.gateway ?? own);
    if (range.isOfNodes === true) return onSubnet(addressOf(allocated, index, range), range);
    const gateway = own && { gateway: own };
    return { address: { address: addressOf(allocated, index, range), prefix: range.prefix }, ...gateway };
  });
  const loose = statics.filter((request) => request.range === undefined);
  const ips = [...ranged, ...loose.map((request) => staticIp(request, request.gateway))];
  return { interfaces: [], ips, routes: config.routes, dns: config.dns };
}

/** Of the node's subnet that the address is in. */
function onSubnet(address: Address, { sliceLength, prefix }: IpamRange): ResultIp {
  const subnet = Prefix.around(address, sliceLength ?? prefix.length);
  const gateway = plus(subnet.network, 1);
  return { address: { address, prefix: subnet }, ...(gateway && { gateway }) };
}

function staticIp({ cidr }: StaticRequest, gateway: Address | undefined): ResultIp {
  return { address: cidr, ...(gateway && { gateway }) };
}

function addressOf(allocated: ReadonlyMap<number, Address>, index: number, { prefix }: IpamRange): Address {
  const address = allocated.get(index);
  if (address !== undefined) return address;
  const message = `no address was taken from range ${index}, ${prefix}: all ranges give one, or the attachment fails; try again.`;
  throw new CniError(errorCodes.refused, message);
}
