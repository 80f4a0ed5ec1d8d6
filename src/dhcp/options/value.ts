// Values of options. catalog.ts has the kind of each code; one file per family turns values into bytes and back.
import type { V4Address } from "../../net/address.ts";
import type { Prefix } from "../../net/prefix.ts";
import type { ClientIdentifier } from "./client-identifier.ts";
import type { SubOption } from "./relay-agent.ts";

export interface Route {
  readonly destination: Prefix;
  readonly router: V4Address;
}

export type OptionValue =
  | { readonly kind: "address"; readonly value: V4Address }
  | { readonly kind: "addresses"; readonly value: readonly V4Address[] }
  | { readonly kind: "uint8" | "uint16" | "uint32"; readonly value: number }
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "domains"; readonly value: readonly string[] }
  | { readonly kind: "routes"; readonly value: readonly Route[] }
  | { readonly kind: "codes"; readonly value: readonly number[] }
  | { readonly kind: "client-identifier"; readonly value: ClientIdentifier }
  | { readonly kind: "relay-agent"; readonly value: readonly SubOption[] }
  | { readonly kind: "bytes"; readonly value: Uint8Array };

export type OptionKind = OptionValue["kind"];
