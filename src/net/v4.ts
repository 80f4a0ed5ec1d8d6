// IPv4 as one unsigned 32-bit number: text in and out (RFC 4632 section 3.1, dotted decimal).

const dot = 46;
const zero = 48;

/**
 * Reads four decimal octets. Returns the number, or the reason why not.
 *
 * Strict refuses leading zeros, because C libraries read `010` as octal and everyone else as ten. Sloppy reads them as
 * decimal, as Go before 1.17 and Kubernetes' ParseIPSloppy do: old configurations contain them.
 */
export function scanV4(text: string, sloppy: boolean): number | string {
  let value = 0;
  let octets = 0;
  let octet = 0;
  let digits = 0;
  for (let i = 0; i <= text.length; i++) {
    const code = i === text.length ? dot : text.charCodeAt(i);
    if (code === dot) {
      if (digits === 0) return "an octet is empty";
      value = value * 256 + octet;
      octets += 1;
      if (octets === 4 && i < text.length) return "it has more than four octets";
      octet = 0;
      digits = 0;
      continue;
    }
    const digit = code - zero;
    if (digit < 0 || digit > 9) return `the character ${JSON.stringify(text[i])} is neither a digit nor a dot`;
    if (digits > 0 && octet === 0 && !sloppy)
      return "an octet has a leading zero, which some programs read as octal: write it without";
    octet = octet * 10 + digit;
    digits += 1;
    if (octet > 255) return "an octet is larger than 255";
  }
  return octets === 4 ? value : `it has ${octets} of four octets`;
}

export function formatV4(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
}
