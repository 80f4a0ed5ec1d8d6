// The keys of IPPool.spec.allocations: the decimal offset of an address from the address in spec.range. Written: exact
// over 128 bits, never by a wrong arithmetic. Read: the same, and every other address that whereabouts may have meant
// by the key. Without host bits in spec.range, and with 64 host bits or fewer, there is no other.
import { type Address, distance, equal, minus, plus } from "../../net/address.ts";
import { contains, type Cidr } from "../../net/prefix.ts";
import { ObjectError } from "../error.ts";
import { whereaboutsOffsetBits, whereaboutsOrigins } from "./whereabouts-offset.ts";

/** whereabouts reads offsets as signed 64-bit numbers. */
const whereaboutsLimit = 1n << 63n;

/** `forWhereabouts`: refuse what it could not read back. */
export function allocationKey(range: Cidr, address: Address, { forWhereabouts = false } = {}): string {
  const written = `${range.address}/${range.prefix.length}`;
  if (!contains(range.prefix, address)) {
    const words = `${address} is not in the pool's spec.range ${written}: it belongs into another pool.`;
    throw new ObjectError("not-in-range", words);
  }
  const offset = distance(range.address, address);
  if (offset < 0n) {
    const fault = `${address} is below ${range.address}, from which spec.range ${written} counts, and no key can say it:`;
    const remedy = `exclude it, or move the pool to ${range.prefix}.`;
    throw new ObjectError("not-in-range", `${fault} ${remedy}`);
  }
  if (forWhereabouts && offset >= whereaboutsLimit) {
    const fault = `${address} is ${offset} after ${range.address}, and whereabouts reads offsets below 2^63 only:`;
    const remedy = "choose a lower address while whereabouts is active in this cluster.";
    throw new ObjectError("offset-too-large", `${fault} ${remedy}`);
  }
  return offset.toString();
}

export interface KeyReading {
  /** What whereabouts itself takes the key for, where that is in the range; else what it may have meant. */
  readonly address: Address;
  /** What it may have meant besides: one of all of these is in use, and the key does not say which. */
  readonly others: readonly Address[];
  /** The range is wider than whereabouts' offsets: the address may be any that lies a multiple of 2^64 further on. */
  readonly isWrapped: boolean;
}

/** What a key means, or in a sentence why it means nothing. */
export function readAllocationKey(range: Cidr, key: string): KeyReading | string {
  // Go's ParseInt takes a sign and leading zeros; 39 digits are 128 bits.
  if (!/^\+?\d{1,39}$/.test(key)) return `the key ${JSON.stringify(key)} is not a decimal offset`;
  const offset = BigInt(key.replace("+", ""));
  const meant = [plus(range.address, offset), ...otherMeanings(range, offset)];
  const [address, ...others] = distinct(meant.filter((each) => each !== undefined && contains(range.prefix, each)));
  if (address === undefined)
    return `the key ${JSON.stringify(key)} leads out of ${range.prefix}, counted from ${range.address}`;
  const isWrapped = range.prefix.hostBits > whereaboutsOffsetBits && offset >> BigInt(whereaboutsOffsetBits) === 0n;
  return { address, others, isWrapped };
}

function otherMeanings(range: Cidr, offset: bigint): (Address | undefined)[] {
  if (equal(range.address, range.prefix.network)) return [];
  return [minus(range.address, offset), ...whereaboutsOrigins(range, offset)];
}

function distinct(addresses: readonly (Address | undefined)[]): Address[] {
  const seen = new Map(addresses.flatMap((each) => (each === undefined ? [] : [[each.toString(), each] as const])));
  return [...seen.values()];
}
