// Announcements as somebody else reads them: Wireshark finds every field, no malformed one, and right checksums.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, it } from "vitest";

import { pcapHeader, pcapRecord } from "../../src/dhcp/capture/pcap.ts";
import { proxyMac } from "../../src/migration/neighbours/announcements.ts";
import { framesOf } from "../../src/migration/neighbours/frames.ts";
import { routerFrame } from "../../src/migration/neighbours/router.ts";
import { parseAddress } from "../../src/net/address.ts";
import { parseMac } from "../../src/net/mac.ts";

const sender = parseMac("0a:58:0a:f4:00:fe");
const vmMac = parseMac("0a:58:0a:f4:00:01");
const vm4 = { mac: vmMac, address: parseAddress("10.244.0.8") };
const vm6 = { mac: vmMac, address: parseAddress("fd10:244:0:1::8") };
const say = (address: string, to?: typeof vm4) =>
  framesOf({ node: "n1", address: parseAddress(address), mac: proxyMac, to }, sender);

const arp = {
  "eth.src": sender,
  "arp.hw.type": "1",
  "arp.proto.type": "0x0800",
  "arp.src.hw_mac": proxyMac,
  "arp.isgratuitous": "1",
};
const advertised = {
  "eth.src": sender,
  "ipv6.hlim": "255",
  "icmpv6.type": "136",
  "icmpv6.nd.na.flag.r": "0",
  "icmpv6.nd.na.flag.s": "0",
  "icmpv6.nd.na.flag.o": "1",
  "icmpv6.opt.type": "2",
  "icmpv6.opt.linkaddr": proxyMac,
  "icmpv6.checksum.status": "1",
};
const cases: readonly (readonly [string, Uint8Array, Record<string, string>])[] = [
  [
    "a request to all",
    say("10.244.0.8")[0]!,
    {
      ...arp,
      "eth.dst": "ff:ff:ff:ff:ff:ff",
      "arp.opcode": "1",
      "arp.src.proto_ipv4": "10.244.0.8",
      "arp.dst.proto_ipv4": "10.244.0.8",
      "arp.dst.hw_mac": "00:00:00:00:00:00",
    },
  ],
  [
    "a reply to all",
    say("10.244.0.8")[1]!,
    {
      ...arp,
      "eth.dst": "ff:ff:ff:ff:ff:ff",
      "arp.opcode": "2",
      "arp.src.proto_ipv4": "10.244.0.8",
      "arp.dst.hw_mac": "ff:ff:ff:ff:ff:ff",
    },
  ],
  [
    "a request to the VM",
    say("10.244.0.9", vm4)[0]!,
    {
      ...arp,
      "eth.dst": vmMac,
      "arp.opcode": "1",
      "arp.src.proto_ipv4": "10.244.0.9",
      "arp.dst.proto_ipv4": "10.244.0.9",
    },
  ],
  [
    "a reply to the VM",
    say("10.244.0.9", vm4)[1]!,
    { ...arp, "eth.dst": vmMac, "arp.opcode": "2", "arp.dst.hw_mac": vmMac },
  ],
  [
    "an advertisement to all",
    say("fd10:244:0:1::8")[0]!,
    {
      ...advertised,
      "eth.dst": "33:33:00:00:00:01",
      "ipv6.src": "fd10:244:0:1::8",
      "ipv6.dst": "ff02::1",
      "icmpv6.nd.na.target_address": "fd10:244:0:1::8",
    },
  ],
  [
    "an advertisement to the VM",
    say("fd10:244:0:1::9", vm6)[0]!,
    {
      ...advertised,
      "eth.dst": vmMac,
      "ipv6.src": "fd10:244:0:1::9",
      "ipv6.dst": "fd10:244:0:1::8",
      "icmpv6.nd.na.target_address": "fd10:244:0:1::9",
    },
  ],
  [
    "the router, to the VM",
    routerFrame({ to: vmMac, mtu: 1400, lifetimeSeconds: 9000 }, sender),
    {
      "eth.src": sender,
      "eth.dst": vmMac,
      "ipv6.src": "fe80::1",
      "ipv6.dst": "ff02::1",
      "ipv6.hlim": "255",
      "icmpv6.type": "134",
      "icmpv6.nd.ra.flag.m": "1",
      "icmpv6.nd.ra.router_lifetime": "9000",
      "icmpv6.opt.type": "1,5",
      "icmpv6.opt.linkaddr": proxyMac,
      "icmpv6.opt.mtu": "1400",
      "icmpv6.checksum.status": "1",
    },
  ],
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-tshark-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function tshark(frames: readonly Uint8Array[], args: readonly string[]): string[] {
  const file = join(folder, "frames.pcap");
  writeFileSync(file, Buffer.concat([pcapHeader(), ...frames.map((frame) => pcapRecord(0, frame))]));
  const run = spawnSync("tshark", ["-n", "-r", file, ...args], { encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr);
  return run.stdout.split("\n").filter((line) => line !== "");
}

const badness = ["-Y", "_ws.malformed or _ws.expert.severity >= warning or icmpv6.checksum.status == 0"];

it("tshark finds nothing malformed and no wrong checksum", () => {
  expect(
    tshark(
      cases.map(([, frame]) => frame),
      badness,
    ),
  ).toEqual([]);
});

it("and would say so of a spoilt one", () => {
  const [advertisement] = say("fd10:244:0:1::8");
  const flipped = advertisement!.with(80, advertisement![80]! ^ 1);
  expect(tshark([flipped, advertisement!.subarray(0, 70)], badness)).toHaveLength(2);
});

it("field by field", () => {
  const names = [...new Set(cases.flatMap(([, , fields]) => Object.keys(fields)))];
  const wanted = ["-T", "fields", "-E", "separator=|", ...names.flatMap((name) => ["-e", name])];
  const lines = tshark(
    cases.map(([, frame]) => frame),
    wanted,
  );
  for (const [index, [what, , fields]] of cases.entries()) {
    const read = new Map(lines[index]!.split("|").map((value, at) => [names[at]!, value]));
    const found = Object.fromEntries(Object.keys(fields).map((name) => [name, read.get(name)]));
    expect({ what, ...found }).toEqual({ what, ...fields });
  }
});
