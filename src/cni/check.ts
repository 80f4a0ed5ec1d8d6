// CHECK: whether what is held for an attachment and what the runtime believes (prevResult) are the same, both ways.
//
// Addresses must agree in both directions. A gateway and a route that we gave must still be there as we gave them. What others
// added is theirs: the bridge plugin sets a gateway where IPAM gave none, chained plugins add routes, and prevResult also lists
// the addresses of other interfaces (CNI 1.1.0, section 2 "CHECK": later plugins may have modified networking).
import { equal } from "../net/address.ts";
import { formatCidr, type Route } from "./config/route.ts";
import { CniError, errorCodes } from "./error.ts";
import type { CniResult, ResultIp } from "./result.ts";

export type Difference =
  | { readonly kind: "address-not-in-result"; readonly message: string }
  | { readonly kind: "address-not-held"; readonly message: string }
  | { readonly kind: "gateway-differs"; readonly message: string }
  | { readonly kind: "route-missing"; readonly message: string };

/** `held` is what an ADD would answer now. Empty where they agree. */
export function compareResults(held: CniResult, previous: CniResult, interfaceName: string): Difference[] {
  const believed = previous.ips.filter((ip) => concerns(ip, previous, interfaceName));
  const differences: Difference[] = [];
  for (const ip of held.ips) {
    const same = believed.find((other) => sameAddress(ip, other));
    const text = formatCidr(ip.address);
    if (same === undefined) {
      differences.push({ kind: "address-not-in-result", message: `${text} is held, and prevResult does not have it.` });
    } else if (ip.gateway !== undefined && !(same.gateway && equal(ip.gateway, same.gateway))) {
      const other = same.gateway === undefined ? "none" : `${same.gateway}`;
      const message = `the gateway of ${text} is ${ip.gateway}, and prevResult has ${other}.`;
      differences.push({ kind: "gateway-differs", message });
    }
  }
  for (const ip of believed) {
    if (held.ips.some((other) => sameAddress(ip, other))) continue;
    const message = `prevResult has ${formatCidr(ip.address)}, and it is not held.`;
    differences.push({ kind: "address-not-held", message });
  }
  for (const route of held.routes) {
    if (previous.routes.some((other) => sameRoute(route, other))) continue;
    const via = route.gw === undefined ? "" : ` by ${route.gw}`;
    const message = `the route to ${formatCidr(route.dst)}${via} is configured, and prevResult does not have it.`;
    differences.push({ kind: "route-missing", message });
  }
  return differences;
}

/** Throws code 100 with every difference. */
export function assertUnchanged(held: CniResult, previous: CniResult, interfaceName: string): void {
  const differences = compareResults(held, previous, interfaceName);
  if (differences.length === 0) return;
  const list = differences.map((difference) => difference.message).join(" ");
  throw new CniError(
    errorCodes.checkFailed,
    `the interface ${interfaceName} is not as it was set up: ${list} Delete the pod, so that it is set up anew.`,
    { problems: differences.map(({ kind, message }) => ({ key: kind, value: interfaceName, message })) },
  );
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
