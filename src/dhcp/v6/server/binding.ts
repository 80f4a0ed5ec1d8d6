// A binding: the client with this MAC has this address. It is made elsewhere, durable before a client asks.
//
// Bindings name no DUID: a guest chooses its own, and one that was cloned with its disk has that of another.
import { type V6Address, addressToBytes } from "../../../net/address.ts";
import { type Mac, macToBytes } from "../../../net/mac.ts";
import { DhcpError } from "../../error.ts";
import { macKeyOf } from "../../server/binding.ts";
import { isLinkLocal, isMulticast, isUnspecified, keyOf } from "../bytes.ts";

export interface BindingDefinitionV6 {
  readonly address: V6Address;
  /** The name of the pool whose options it gets. */
  readonly pool: string;
  readonly mac: Mac;
}

export interface BindingV6 {
  readonly address: V6Address;
  /** The address as it is on the wire. */
  readonly bytes: Uint8Array;
  /** keyOf its bytes. */
  readonly key: string;
  readonly pool: string;
  readonly mac: Mac;
  /** macKeyOf its MAC. */
  readonly macKey: number;
}

export function compileBindingV6({ address, pool, mac }: BindingDefinitionV6): BindingV6 {
  const bytes = addressToBytes(address);
  if (isUnspecified(bytes) || isMulticast(bytes) || isLinkLocal(bytes)) {
    throw new DhcpError("bad-binding", `The binding of ${address} cannot be given: write an address of the subnet.`);
  }
  return { address, bytes, key: keyOf(bytes), pool, mac, macKey: macKeyOf(macToBytes(mac)) };
}
