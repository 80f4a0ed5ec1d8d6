// A binding: this client has this address. It is made elsewhere, durable before a client asks; the server serves it.
import type { V4Address } from "../../net/address.ts";
import { type Mac, macToBytes } from "../../net/mac.ts";
import { DhcpError } from "../error.ts";
import { clientKey } from "../options/client-identifier.ts";
import { code } from "../options/codes.ts";
import { type CustomOption, Parameters } from "./parameters.ts";

export interface BindingDefinition {
  readonly address: V4Address;
  /** The name of the pool whose options it gets. */
  readonly pool: string;
  /** At least one of `mac` and `clientIdentifier`; with both, either is enough to be this client. */
  readonly mac?: Mac;
  /** Option 61, all of it, with the byte of its type. */
  readonly clientIdentifier?: Uint8Array;
  /** Option 12. */
  readonly hostName?: string;
  /** They go before options of the pool with the same code. */
  readonly custom?: readonly CustomOption[];
}

export interface Binding {
  readonly address: number;
  readonly pool: string;
  readonly mac: Mac | undefined;
  /** macKeyOf its MAC. */
  readonly macKey: number | undefined;
  readonly clientKey: string | undefined;
  readonly parameters: Parameters | undefined;
}

export function compileBinding(definition: BindingDefinition): Binding {
  const { address, pool, mac, clientIdentifier, hostName, custom = [] } = definition;
  const of = `The binding of ${address}`;
  if (mac === undefined && clientIdentifier === undefined) {
    throw new DhcpError("bad-binding", `${of} names no client: give a MAC or a client identifier.`);
  }
  if (clientIdentifier !== undefined && clientIdentifier.length < 2) {
    throw new DhcpError(
      "bad-binding",
      `${of} has a client identifier of ${clientIdentifier.length} bytes: it has 2 at least.`,
    );
  }
  let parameters: Parameters | undefined;
  if (hostName !== undefined || custom.length > 0) {
    parameters = new Parameters(of, "bad-binding");
    if (hostName !== undefined) parameters.set(code.hostName, { kind: "text", value: hostName });
    parameters.setCustom(custom);
  }
  return {
    address: address.value,
    pool,
    mac,
    macKey: mac === undefined ? undefined : macKeyOf(macToBytes(mac)),
    clientKey: clientIdentifier === undefined ? undefined : clientKey(clientIdentifier),
    parameters,
  };
}

/** Six bytes as one number, below 2^48: a key that needs no text. */
export function macKeyOf(mac: Uint8Array): number {
  const low = ((mac[2]! << 24) | (mac[3]! << 16) | (mac[4]! << 8) | mac[5]!) >>> 0;
  return ((mac[0]! << 8) | mac[1]!) * 0x1_0000_0000 + low;
}
