// A pool as the server serves it: checked once, with every option and advertisement as bytes already. It gives no
// addresses; bindings do.
import { addressToBytes } from "../../../net/address.ts";
import { contains, type Prefix } from "../../../net/prefix.ts";
import { uintBytes } from "../../options/bytes.ts";
import { infiniteSeconds } from "../../server/lease-times.ts";
import { addressBytes, concatenate, isLinkLocal, isSame } from "../bytes.ts";
import { datagramHeadersBytes, mtuMax } from "../frame/frame.ts";
import type { RouterAdvertisement } from "../neighbor/router-advertisement.ts";
import { codeV6 } from "../options/codes.ts";
import { identityBytes, serverDuid } from "../options/duid.ts";
import type { RawOptionV6 } from "../options/option.ts";
import type { BindingV6 } from "./binding.ts";
import type { ParametersV6 } from "./parameters.ts";
import { advertisementOf, checkedPoolV6, type PoolDefinitionV6 } from "./pool-definition.ts";

export interface PoolV6 {
  readonly name: string;
  readonly subnet: Prefix;
  readonly serverAddress: Uint8Array;
  /** The source of replies: clients of every system take a link-local one, and only such a one may advertise. */
  readonly linkLocal: Uint8Array;
  /** Option 2. */
  readonly identity: RawOptionV6;
  /** Option 7; undefined for 0. */
  readonly preference: RawOptionV6 | undefined;
  readonly rapidCommit: boolean;
  readonly leaseSeconds: number;
  /** T1 and T2: half of the lease, and four fifths (RFC 8415 section 21.4). */
  readonly times: Uint8Array;
  /** Preferred and valid. */
  readonly lifetimes: Uint8Array;
  readonly quarantineMs: number;
  /** A larger message would not pass the link. */
  readonly messageBytes: number;
  readonly parameters: ParametersV6;
  /** Undefined where none are sent. */
  readonly advertisement: RouterAdvertisement | undefined;
}

const quarantineSecondsDefault = 600;
const preferenceDefault = 255;

export function compilePoolV6(definition: PoolDefinitionV6): PoolV6 {
  const { parameters } = checkedPoolV6(definition);
  const { name, subnet, leaseSeconds, rapidCommit = true, quarantineSeconds = quarantineSecondsDefault } = definition;
  const { preference = preferenceDefault, mtu } = definition;
  const own = definition.linkLocal && addressToBytes(definition.linkLocal);
  const configured = definition.serverAddress && addressToBytes(definition.serverAddress);
  const isLocal = configured !== undefined && isLinkLocal(configured);
  const linkLocal = own ?? (isLocal ? configured : defaultLinkLocal(name, String(subnet)));
  const serverAddress = configured ?? linkLocal;
  const part = (share: number) =>
    leaseSeconds === infiniteSeconds ? infiniteSeconds : Math.floor(leaseSeconds * share);
  const lease = uintBytes(leaseSeconds, 4);
  return {
    name,
    subnet,
    serverAddress,
    linkLocal,
    identity: { code: codeV6.serverIdentifier, data: serverDuid(name, String(subnet)) },
    preference: preference === 0 ? undefined : { code: codeV6.preference, data: uintBytes(preference, 1) },
    rapidCommit,
    leaseSeconds,
    times: concatenate([uintBytes(part(0.5), 4), uintBytes(part(0.8), 4)]),
    lifetimes: concatenate([lease, lease]),
    quarantineMs: 1000 * quarantineSeconds,
    messageBytes: Math.min(mtu ?? mtuMax, mtuMax) - datagramHeadersBytes,
    parameters,
    advertisement: advertisementOf(definition, linkLocal, parameters),
  };
}

/** A binding may name any pool and any address; a client never gets one of another subnet, nor the server's own. */
export function canServeV6(pool: PoolV6, { address, bytes }: BindingV6): boolean {
  return contains(pool.subnet, address) && !isSame(bytes, pool.serverAddress);
}

/** fe80:: and 64 bits of the pool's own, not marked as made from a MAC (RFC 4291 section 2.5.1: the bit is zero). */
function defaultLinkLocal(name: string, subnet: string): Uint8Array {
  const address = new Uint8Array(addressBytes);
  address.set([0xfe, 0x80]);
  address.set(identityBytes("server address", name, subnet).subarray(0, 8), 8);
  address[8]! &= ~0x02;
  return address;
}
