// A message of a known client, with all that its answer depends on.
import { V4Address } from "../../net/address.ts";
import { macFromBytes } from "../../net/mac.ts";
import type { Message } from "../message/decode.ts";
import { type Binding, macKeyOf } from "./binding.ts";
import type { Network } from "./network.ts";
import type { AboutClient } from "./outcome.ts";
import type { Pool } from "./pool.ts";

export interface Question {
  readonly message: Message;
  readonly network: Network;
  readonly binding: Binding;
  /** The binding's. */
  readonly pool: Pool;
  /** Of the IP header. */
  readonly sourceAddress: number;
  readonly nowMs: number;
}

/** Client, network and address, for effects. The binding's MAC text is reused: every ACK has an effect. */
export function aboutClient({ network, message, binding }: Question): AboutClient {
  const isKnown = binding.mac !== undefined && binding.macKey === macKeyOf(message.chaddr);
  const mac = isKnown ? binding.mac : macFromBytes(message.chaddr);
  return { network: network.name, mac, address: new V4Address(binding.address) };
}
