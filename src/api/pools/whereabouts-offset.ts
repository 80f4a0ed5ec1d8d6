// What whereabouts writes as the offset of an address where the range's own address has host bits. It subtracts byte by
// byte, and wherever a byte borrows it gets the byte wrong: 10.0.1.3 from 10.0.0.5 is 248, not 254. Below the base it
// takes the distance without its sign. Both only happen with host bits; without them no byte ever borrows. This file
// knows that arithmetic in order to recognise what it left behind. Nothing here is ever written.
import { type Address, fromBigInt, toBigInt } from "../../net/address.ts";
import { contains, type Cidr } from "../../net/prefix.ts";

/** Its offsets are 64 bits wide. */
export const whereaboutsOffsetBits = 64;
const offsetBytes = whereaboutsOffsetBits / 8;

/** One byte of its subtraction. */
function subtractByte(a: number, b: number, borrow: number): { result: number; borrow: number } {
  const borrows = a < b + borrow;
  return { result: (borrows ? 0x100 - a - b - borrow : a - b - borrow) & 0xff, borrow: borrows ? 1 : 0 };
}

/** The offset that whereabouts writes for the address. */
export function whereaboutsOffset(base: Address, address: Address): bigint {
  const [small, large] = [bytesOf(base), bytesOf(address)];
  const [a, b] = toBigInt(address) < toBigInt(base) ? [small, large] : [large, small];
  let offset = 0n;
  let borrow = 0;
  for (let i = 0; i < a.length && i < offsetBytes; i++) {
    const step = subtractByte(a[i]!, b[i]!, borrow);
    offset |= BigInt(step.result) << BigInt(8 * i);
    borrow = step.borrow;
  }
  return offset;
}

/**
 * Every address of the range for which whereabouts would have written this offset. Ranges of up to 64 host bits: a byte
 * has two origins at most, above and below the base, so at most 2 x 2^8 addresses are looked at.
 */
export function whereaboutsOrigins(range: Cidr, offset: bigint): Address[] {
  if (range.prefix.hostBits > whereaboutsOffsetBits || offset >> BigInt(whereaboutsOffsetBits) !== 0n) return [];
  const found = new Map<bigint, Address>();
  for (const isBelow of [false, true]) {
    for (const value of originsOf(range, offset, isBelow)) found.set(value, fromBigInt(range.prefix.family, value));
  }
  // The search goes by single bytes; whether the whole is right, the arithmetic itself says.
  return [...found.values()].filter(
    (address) => contains(range.prefix, address) && whereaboutsOffset(range.address, address) === offset,
  );
}

function originsOf({ address, prefix }: Cidr, offset: bigint, isBelow: boolean): bigint[] {
  const base = bytesOf(address);
  const hostBytes = Math.ceil(prefix.hostBits / 8);
  let partial: { value: bigint; borrow: number }[] = [{ value: 0n, borrow: 0 }];
  for (let i = 0; i < hostBytes; i++) {
    const wanted = Number((offset >> BigInt(8 * i)) & 0xffn);
    partial = partial.flatMap(({ value, borrow }) =>
      byteOrigins(base[i]!, borrow, wanted, isBelow).map((origin) => ({
        value: value | (BigInt(origin.byte) << BigInt(8 * i)),
        borrow: origin.borrow,
      })),
    );
  }
  const above = (toBigInt(prefix.network) >> BigInt(8 * hostBytes)) << BigInt(8 * hostBytes);
  return partial.map(({ value }) => above | value);
}

/** The bytes of an address that, subtracted from or by the base's byte, leave the wanted one. */
function byteOrigins(base: number, borrow: number, wanted: number, isBelow: boolean) {
  const straight = isBelow ? base - borrow - wanted : wanted + base + borrow;
  const borrowed = 0x100 - base - borrow - wanted;
  return [...new Set([straight & 0xff, borrowed & 0xff])].flatMap((byte) => {
    const step = isBelow ? subtractByte(base, byte, borrow) : subtractByte(byte, base, borrow);
    return step.result === wanted ? [{ byte, borrow: step.borrow }] : [];
  });
}

/** Least significant first. */
function bytesOf(address: Address): number[] {
  const value = toBigInt(address);
  return Array.from({ length: address.family === 4 ? 4 : 16 }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}
