// Numbers and texts as bytes: what all families of options are made of (RFC 2132 section 2, network byte order).

export function uintBytes(value: number, width: 1 | 2 | 4): Uint8Array {
  const bytes = new Uint8Array(width);
  for (let i = width - 1, rest = value; i >= 0; i--, rest = Math.floor(rest / 256)) bytes[i] = rest % 256;
  return bytes;
}

export function readUint(bytes: Uint8Array, at: number, width: number): number {
  let value = 0;
  for (let i = at; i < at + width; i++) value = value * 256 + bytes[i]!;
  return value;
}

/** ASCII that prints. Names, paths and messages on the wire are nothing else here. */
export function isPrintable(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
}

/** Undefined where the text has characters that are not printable ASCII. */
export function asciiBytes(text: string): Uint8Array | undefined {
  const bytes = Uint8Array.from(text, (character) => Math.min(character.codePointAt(0)!, 0xff));
  return isPrintable(bytes) ? bytes : undefined;
}

export function asciiText(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
