// Router and neighbour solicitations off the wire, valid or refused (RFC 4861 sections 6.1.1 and 7.1.1).
import { solicitedNodeOf } from "../../../frame/multicast.ts";
import { type Fault, fault } from "../../fault.ts";
import { addressBytes, isMulticast, isSame, isUnspecified } from "../bytes.ts";
import type { IcmpFrame } from "../frame/frame.ts";

/** Views of the frame. */
export type Solicitation =
  | { readonly kind: "router-solicitation"; readonly source: Uint8Array; readonly mac: Uint8Array }
  | {
      readonly kind: "neighbor-solicitation";
      readonly source: Uint8Array;
      readonly mac: Uint8Array;
      readonly target: Uint8Array;
    }
  /** Another message of ICMPv6: none of our business. */
  | { readonly kind: "other"; readonly type: number };

const type = { router: 133, neighbor: 135 } as const;
const optionsAt = { router: 8, neighbor: 24 } as const;
const targetAt = 8;
const sourceLinkLayer = 1;
/** What no router lets through: the sender is on this link. */
const hopLimit = 255;

const bad = fault("bad-neighbor-message", "A solicitation is not from this link, is cut off, or contradicts itself.");

export function decodeSolicitation({
  payload,
  hopLimit: hops,
  source,
  destination,
  ethernet,
}: IcmpFrame): Solicitation | Fault {
  const kind = payload[0]!;
  if (kind !== type.router && kind !== type.neighbor) return { kind: "other", type: kind };
  const isRouter = kind === type.router;
  const from = isRouter ? optionsAt.router : optionsAt.neighbor;
  if (hops !== hopLimit || payload[1] !== 0 || payload.length < from) return bad;
  const options = optionTypes(payload, from);
  const isAnonymous = isUnspecified(source);
  if (options === undefined || isMulticast(source) || (isAnonymous && options.includes(sourceLinkLayer))) return bad;
  const mac = ethernet.source;
  if (isRouter) return { kind: "router-solicitation", source, mac };
  const target = payload.subarray(targetAt, targetAt + addressBytes);
  if (isMulticast(target) || (isAnonymous && !isSame(destination, solicitedNodeOf(target)))) return bad;
  return { kind: "neighbor-solicitation", source, mac, target };
}

/** Undefined where one has no length, or is cut off. */
function optionTypes(payload: Uint8Array, from: number): readonly number[] | undefined {
  const types: number[] = [];
  for (let at = from; at < payload.length;) {
    const bytes = 8 * (payload[at + 1] ?? 0);
    if (bytes === 0 || at + bytes > payload.length) return undefined;
    types.push(payload[at]!);
    at += bytes;
  }
  return types;
}
