// CHECK: whether what is held for an attachment and what the runtime believes (prevResult) are the same, both ways.
//
// Addresses must agree in both directions. A gateway and a route that we gave must still be there as we gave them. What
// others added is theirs: the bridge plugin sets a gateway where IPAM gave none, chained plugins add routes, prevResult
// lists addresses of other interfaces too (CNI 1.1.0, section 2 "CHECK": later plugins may have modified networking).
import { equal } from "../net/address.ts";
import { formatCidr, type Route } from "./config/route.ts";
import { CniError, errorCodes, type Problem } from "./error.ts";
import type { CniResult, ResultIp } from "./result.ts";

/** `held` is what an ADD would answer now. Empty where they agree; the key says what kind of difference it is. */
export function compareResults(held: CniResult, previous: CniResult, interfaceName: string): Problem[] {
  const believed = previous.ips.filter((ip) => concerns(ip, previous, interfaceName));
  const differences: Problem[] = [];
  const differ = (key: string, message: string) => void differences.push({ key, value: interfaceName, message });
  for (const ip of held.ips) {
    const same = believed.find((other) => sameAddress(ip, other));
    const text = formatCidr(ip.address);
    if (same === undefined) {
      differ("address-not-in-result", `${text} is held, and prevResult does not have it.`);
    } else if (ip.gateway !== undefined && !(same.gateway && equal(ip.gateway, same.gateway))) {
      const other = same.gateway === undefined ? "none" : `${same.gateway}`;
      differ("gateway-differs", `the gateway of ${text} is ${ip.gateway}, and prevResult has ${other}.`);
    }
  }
  for (const ip of believed) {
    if (held.ips.some((other) => sameAddress(ip, other))) continue;
    differ("address-not-held", `prevResult has ${formatCidr(ip.address)}, and it is not held.`);
  }
  for (const route of held.routes) {
    if (previous.routes.some((other) => sameRoute(route, other))) continue;
    const via = route.gw === undefined ? "" : ` by ${route.gw}`;
    const message = `the route to ${formatCidr(route.dst)}${via} is configured, and prevResult does not have it.`;
    differ("route-missing", message);
  }
  return differences;
}

export function assertUnchanged(held: CniResult, previous: CniResult, interfaceName: string): void {
  const problems = compareResults(held, previous, interfaceName);
  if (problems.length === 0) return;
  const list = problems.map(({ message }) => message).join(" ");
  const words = `the interface ${interfaceName} is not as it was set up: ${list} Delete the pod, so that it is set up anew.`;
  throw new CniError(errorCodes.checkFailed, words, { problems });
}

/** An address without an interface is for the attachment's own; so are all before 0.3.0, which had no interfaces. */
function concerns(ip: ResultIp, { interfaces }: CniResult, interfaceName: string): boolean {
  return ip.interface === undefined || interfaces[ip.interface]?.name === interfaceName;
}

function sameAddress(a: ResultIp, b: ResultIp): boolean {
  return equal(a.address.address, b.address.address) && a.address.prefix.length === b.address.prefix.length;
}

/** A route of ours without a gateway takes the address's: whoever wrote that one into prevResult changed nothing. */
function sameRoute(ours: Route, theirs: Route): boolean {
  if (formatCidr(ours.dst) !== formatCidr(theirs.dst)) return false;
  return ours.gw === undefined || (theirs.gw !== undefined && equal(ours.gw, theirs.gw));
}
