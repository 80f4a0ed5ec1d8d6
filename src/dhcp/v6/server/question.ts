// A message of a known client, with all that its answer depends on.
import type { MessageV6, Relay } from "../message/decode.ts";
import type { BindingV6 } from "./binding.ts";
import type { Sender } from "./client.ts";
import type { NetworkV6 } from "./network.ts";
import type { AboutClientV6 } from "./outcome.ts";
import type { PoolV6 } from "./pool.ts";

export interface QuestionV6 {
  readonly message: MessageV6;
  readonly relays: readonly Relay[];
  readonly sender: Sender;
  /** It came to an address of ours, and not through a relay. */
  readonly isUnicast: boolean;
  readonly network: NetworkV6;
  readonly binding: BindingV6;
  /** The binding's. */
  readonly pool: PoolV6;
  readonly nowMs: number;
}

/** Client, network and address, for effects. */
export function aboutClientV6({ network, binding }: QuestionV6): AboutClientV6 {
  return { network: network.name, mac: binding.mac, address: binding.address };
}

export function isQuarantined({ network, binding, nowMs }: QuestionV6): boolean {
  return network.quarantine.has(binding.key, nowMs);
}
