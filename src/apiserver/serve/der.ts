// The few ASN.1 types of a certificate in DER (X.690): tag, length, contents.

export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

function lengthOf(size: number): Buffer {
  if (size < 0x80) return Buffer.from([size]);
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

export const sequence = (...items: readonly Uint8Array[]) => der(0x30, ...items);
export const set = (...items: readonly Uint8Array[]) => der(0x31, ...items);
export const utf8 = (text: string) => der(0x0c, Buffer.from(text));
export const octets = (bytes: Uint8Array) => der(0x04, bytes);
export const bits = (bytes: Uint8Array) => der(0x03, Buffer.from([0]), bytes);
export const boolean = (value: boolean) => der(0x01, Buffer.from([value ? 0xff : 0]));

/** `bytes` as an unsigned number, without leading zeros. */
export function integer(bytes: Uint8Array): Buffer {
  const isNegative = (bytes[0] ?? 0) >= 0x80;
  return isNegative ? der(0x02, Buffer.from([0]), bytes) : der(0x02, bytes);
}

/** Dotted form, like 2.5.29.17. */
export function identifier(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split(".").map(Number) as [number, number, ...number[]];
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const septets = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) septets.unshift((left & 0x7f) | 0x80);
    bytes.push(...septets);
  }
  return der(0x06, Buffer.from(bytes));
}

/** GeneralizedTime, which is right for every year; UTCTime ends in 2049. */
export function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return der(0x18, Buffer.from(text));
}
