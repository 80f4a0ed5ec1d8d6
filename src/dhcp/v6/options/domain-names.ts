// Lists of domain names without compression, as DHCPv6 and router advertisements have them (RFC 8415 section 10,
// RFC 8106 section 5.2).
import { encodeDomains } from "../../options/domain-list.ts";
import { concatenate } from "../bytes.ts";

/** Undefined where a name is no domain name. One name alone has nothing to point at. */
export function encodeDomainNames(names: readonly string[]): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  for (const name of names) {
    const bytes = encodeDomains([name]);
    if (bytes === undefined) return undefined;
    parts.push(bytes);
  }
  return concatenate(parts);
}
