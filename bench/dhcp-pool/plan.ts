// What the benchmark of managed pools stands on: one network with a /8, and bindings that are spread over all of it, as
// the controller chooses them.
import type { StoredManagedPool } from "../../src/cluster/resources.ts";
import { V4Address } from "../../src/net/address.ts";
import { networkRef } from "../../src/vmnet/rules/network-ref.ts";

export const systemNamespace = "kube-system";
export const network = networkRef("default", "wide");
export const poolKey = network.key;

/** Every address of 10.0.0.0/8 but network, broadcast and server: 16,777,213, as the seed counts them. */
export const poolSpec: StoredManagedPool["spec"] = {
  networkName: network.key,
  ipv4Config: {
    serverIP: "10.0.0.1",
    cidr: "10.0.0.0/8",
    leaseTime: 3600,
    pool: { start: "10.0.0.2", end: "10.255.255.254" },
  },
};
export const addresses = 2 ** 24 - 3;

export interface Binding {
  readonly address: V4Address;
  readonly mac: string;
}

const first = 0x0a00_0002;
/** No divisor of the number of addresses: no two of the first 16 million are the same, and neighbours are far apart. */
const stride = 6_700_417;

export function binding(index: number): Binding {
  const hex = (0x0200_0000_0000 + index).toString(16).padStart(12, "0");
  return {
    address: new V4Address(first + ((index * stride) % addresses)),
    mac: hex.replace(/..(?!$)/g, "$&:"),
  };
}
