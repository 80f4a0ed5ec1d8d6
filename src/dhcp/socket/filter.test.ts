// The filter, run by an interpreter of its own: which frames the kernel would hand over.
import { describe, expect, test } from "vitest";

import { dhcpFilter, traceFilter } from "./filter.ts";

const kinds = { us: 0, broadcast: 1, multicast: 2, otherHost: 3, outgoing: 4 } as const;

/** Classic BPF as the kernel runs it; a load outside of the frame ends with 0. */
function run(program: Uint8Array, frame: Uint8Array, packetType: number): number {
  const code = new DataView(program.buffer, program.byteOffset, program.length);
  const at = (offset: number, bytes: number): number | undefined => {
    if (offset === 0xffff_f004) return packetType;
    if (offset + bytes > frame.length) return undefined;
    return frame.subarray(offset, offset + bytes).reduce((value, byte) => value * 256 + byte, 0);
  };
  let a = 0;
  let x = 0;
  for (let pc = 0; pc < program.length / 8; pc++) {
    const operation = code.getUint16(pc * 8, true);
    const k = code.getUint32(pc * 8 + 4, true);
    const jump = (isTrue: boolean) => (pc += code.getUint8(pc * 8 + (isTrue ? 2 : 3)));
    const loads: Record<number, readonly [number, number]> = {
      0x20: [k, 4],
      0x28: [k, 2],
      0x30: [k, 1],
      0x48: [x + k, 2],
      0x50: [x + k, 1],
    };
    const load = loads[operation];
    if (load !== undefined) {
      const value = at(...load);
      if (value === undefined) return 0;
      a = value;
    } else if (operation === 0xb1) x = 4 * ((at(k, 1) ?? 0) & 0x0f);
    else if (operation === 0x15) jump(a === k);
    else if (operation === 0x35) jump(a >= k);
    else if (operation === 0x45) jump((a & k) !== 0);
    else if (operation === 0x06) return k;
    else throw new Error(`operation ${operation}`);
  }
  throw new Error("the program has no end");
}

const macs = "ffffffffffff 020000000011";
const tag = "8100 0030";
const bytes = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ""), "hex"));
/** `options`: words of the IPv4 header beyond five; `fragment`: flags and offset. */
function ipv4(protocol: string, payload: string, { options = 0, fragment = "0000" } = {}): string {
  return `0800 4${5 + options}00 0100 0000 ${fragment} 40 ${protocol} 0000 00000000 ffffffff ${"00000000".repeat(options)} ${payload}`;
}
const ipv6 = (next: string, payload: string) => `86dd 60000000 0010 ${next} ff ${"00".repeat(32)} ${payload}`;

const dhcp = ipv4("11", "0044 0043 0008 0000");
const table: readonly (readonly [string, string, boolean, boolean])[] = [
  // what, frame behind the MACs, taken, taken with ipv6
  ["DHCP to a server", dhcp, true, true],
  ["DHCP behind IPv4 options", ipv4("11", "0044 0043 0008 0000", { options: 3 }), true, true],
  ["DHCP, not to be fragmented", ipv4("11", "0044 0043 0008 0000", { fragment: "4000" }), true, true],
  ["the first fragment", ipv4("11", "0044 0043 0008 0000", { fragment: "2000" }), true, true],
  ["another fragment", ipv4("11", "0044 0043 0008 0000", { fragment: "2010" }), false, false],
  ["another server's answer", ipv4("11", "0043 0044 0008 0000"), true, true],
  ["something else to port 68", ipv4("11", "0035 0044 0008 0000"), false, false],
  ["DNS", ipv4("11", "0044 0035 0008 0000"), false, false],
  ["TCP to port 67", ipv4("06", "0044 0043 0008 0000"), false, false],
  ["an echo request", ipv4("01", "0800 0000 0000 0000"), true, true],
  ["an echo reply", ipv4("01", "0000 0000 0000 0000"), false, false],
  ["ARP", `0806 ${"00".repeat(28)}`, true, true],
  ["LLDP", "88cc 0000", false, false],
  ["DHCPv6 to a server", ipv6("11", "0222 0223 0008 0000"), false, true],
  ["DHCPv6 to a client", ipv6("11", "0223 0222 0008 0000"), false, false],
  ["a router solicitation", ipv6("3a", "8500 0000"), false, true],
  ["a neighbour advertisement", ipv6("3a", "8800 0000"), false, true],
  ["an ICMPv6 echo", ipv6("3a", "8000 0000"), false, false],
  ["a redirect", ipv6("3a", "8900 0000"), false, false],
  ["nothing behind the header", "0800", false, false],
];

describe.each([
  ["without a tag", ""],
  ["with a tag", tag],
])("%s", (_, prefix) => {
  test.each(table)("%s", (_name, packet, isTaken, isTakenWithIpv6) => {
    const frame = bytes(`${macs} ${prefix} ${packet}`);
    expect(run(dhcpFilter({ ipv6: false }), frame, kinds.broadcast) > 0).toBe(isTaken);
    expect(run(dhcpFilter({ ipv6: true }), frame, kinds.us) > 0).toBe(isTakenWithIpv6);
    for (const kind of [kinds.otherHost, kinds.outgoing]) expect(run(dhcpFilter({ ipv6: true }), frame, kind)).toBe(0);
  });
});

test("two tags are nobody's", () => {
  expect(run(dhcpFilter({ ipv6: true }), bytes(`${macs} ${tag} ${tag} ${dhcp}`), kinds.us)).toBe(0);
});

const traced: readonly (readonly [string, string, boolean])[] = [
  ["DHCP to a server", dhcp, true],
  ["DHCP to a client, behind IPv4 options", ipv4("11", "0043 0044 0008 0000", { options: 3 }), true],
  ["of a relay to another port", ipv4("11", "0043 1000 0008 0000"), true],
  ["the first fragment", ipv4("11", "0044 0043 0008 0000", { fragment: "2000" }), true],
  ["another fragment", ipv4("11", "0044 0043 0008 0000", { fragment: "2010" }), false],
  ["DNS", ipv4("11", "4444 0035 0008 0000"), false],
  ["TCP to port 67", ipv4("06", "0044 0043 0008 0000"), false],
  ["ARP", `0806 ${"00".repeat(28)}`, false],
  ["DHCPv6 to a server", ipv6("11", "0222 0223 0008 0000"), true],
  ["DHCPv6 to a client", ipv6("11", "0223 0222 0008 0000"), true],
  ["DHCPv6 to another port", ipv6("11", "0223 1000 0008 0000"), true],
  ["DNS over IPv6", ipv6("11", "4444 0035 0008 0000"), false],
  ["an echo request", ipv6("3a", "8000 0000"), false],
  ["a router solicitation", ipv6("3a", "8500 0000"), true],
  ["a neighbour advertisement", ipv6("3a", "8800 0000"), true],
  ["a redirect", ipv6("3a", "8900 0000"), false],
  ["TCP over IPv6", ipv6("06", "0222 0223"), false],
];

describe.each([
  ["without a tag", ""],
  ["with a tag", tag],
])("a trace, %s", (_, prefix) => {
  test.each(traced)("%s", (_name, packet, isTaken) => {
    const frame = bytes(`${macs} ${prefix} ${packet}`);
    for (const kind of Object.values(kinds)) expect(run(traceFilter(), frame, kind) > 0).toBe(isTaken);
  });
});
