// Identity associations (RFC 8415 sections 21.4 to 21.6, 21.21, 21.22): what a client asks for under a number of its
// own, and what it gets.
import { addressBytes } from "../bytes.ts";
import { OptionListV6 } from "../message/option-list.ts";
import { codeV6 } from "./codes.ts";
import { nest, type RawOptionV6 } from "./option.ts";

type IaKind = "addresses" | "temporary" | "prefixes";

/** One IA of a client's message. All bytes are views. */
export interface Ia {
  readonly kind: IaKind;
  /** Four bytes. */
  readonly iaid: Uint8Array;
  /** Addresses of 16 bytes; of `prefixes`, the length and the prefix, 17 bytes. */
  readonly leases: readonly Uint8Array[];
}

interface Layout {
  readonly code: number;
  /** IAID, T1 and T2; a temporary one has no times. */
  readonly headBytes: number;
  readonly leaseCode: number;
  /** Where a lease's address or prefix stands in its option, and its bytes. */
  readonly leaseAt: number;
  readonly leaseBytes: number;
  readonly leaseOptionBytes: number;
}

const layouts: Readonly<Record<IaKind, Layout>> = {
  addresses: {
    code: codeV6.iaNa,
    headBytes: 12,
    leaseCode: codeV6.iaAddress,
    leaseAt: 0,
    leaseBytes: addressBytes,
    leaseOptionBytes: 24,
  },
  temporary: {
    code: codeV6.iaTa,
    headBytes: 4,
    leaseCode: codeV6.iaAddress,
    leaseAt: 0,
    leaseBytes: addressBytes,
    leaseOptionBytes: 24,
  },
  prefixes: {
    code: codeV6.iaPd,
    headBytes: 12,
    leaseCode: codeV6.iaPrefix,
    leaseAt: 8,
    leaseBytes: 1 + addressBytes,
    leaseOptionBytes: 25,
  },
};
const kinds = new Map<number, IaKind>(
  (Object.keys(layouts) as IaKind[]).map((kind) => [layouts[kind].code, kind] as const),
);

const iaidBytes = 4;
/** No client has as many. Within them the answer to all fits into 1,232 bytes (see src/dhcp/v6/message/encode.ts). */
const iasMax = 8;
const leasesMax = 16;

/** Undefined where an IA cannot be read to its end, or there are more than any client has: nothing is guessed. */
export function readIas(options: OptionListV6): readonly Ia[] | undefined {
  const ias: Ia[] = [];
  let leases = 0;
  for (const [code, data] of options.all()) {
    const kind = kinds.get(code);
    if (kind === undefined) continue;
    const ia = readIa(kind, data);
    if (ia === undefined) return undefined;
    ias.push(ia);
    leases += ia.leases.length;
    if (ias.length > iasMax || leases > leasesMax) return undefined;
  }
  return ias;
}

function readIa(kind: IaKind, data: Uint8Array): Ia | undefined {
  const { headBytes, leaseCode, leaseAt, leaseBytes, leaseOptionBytes } = layouts[kind];
  if (data.length < headBytes) return undefined;
  const inner = OptionListV6.scan(data, headBytes);
  if (inner === undefined) return undefined;
  const leases: Uint8Array[] = [];
  for (const [code, lease] of inner.all()) {
    if (code !== leaseCode) continue;
    if (lease.length < leaseOptionBytes) return undefined;
    leases.push(lease.subarray(leaseAt, leaseAt + leaseBytes));
  }
  return { kind, iaid: data.subarray(0, iaidBytes), leases };
}

const noTimes: Uint8Array = new Uint8Array(8);

/** An IA as it goes back. `times`: T1 and T2, eight bytes; nothing of it where the client is to choose. */
export function iaOption({ kind, iaid }: Ia, options: readonly RawOptionV6[], times = noTimes): RawOptionV6 {
  const { code, headBytes } = layouts[kind];
  const head = new Uint8Array(headBytes);
  head.set(iaid);
  if (headBytes > iaidBytes) head.set(times, iaidBytes);
  return nest(code, head, options);
}

/** `lifetimes`: preferred and valid, eight bytes. */
export function addressOption(address: Uint8Array, lifetimes: Uint8Array): RawOptionV6 {
  const data = new Uint8Array(addressBytes + 8);
  data.set(address);
  data.set(lifetimes, addressBytes);
  return { code: codeV6.iaAddress, data };
}

/** A lease that the client must stop using, as it named it: both lifetimes are zero. */
export function endedLease({ kind }: Ia, lease: Uint8Array): RawOptionV6 {
  const { leaseCode, leaseAt, leaseOptionBytes } = layouts[kind];
  const data = new Uint8Array(leaseOptionBytes);
  data.set(lease, leaseAt);
  return { code: leaseCode, data };
}
