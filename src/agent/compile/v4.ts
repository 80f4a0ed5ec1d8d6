// A text as an IPv4 address.
import { parseAddress, type V4Address } from "../../net/address.ts";
import { NetError } from "../../net/error.ts";

/** Throws NetError, also for IPv6. */
export function v4Of(text: string): V4Address {
  const address = parseAddress(text.trim());
  if (address.family === 4) return address;
  throw new NetError("bad-address", `${address} is IPv6: DHCPv4 has IPv4 addresses alone.`);
}
