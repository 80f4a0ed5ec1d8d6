// Our frames as somebody else reads them: Wireshark finds every field, no malformed one, and right checksums.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { encodeFrame, frameBufferBytes, payloadAt } from "../../src/dhcp/frame/frame.ts";
import { ReplyWriter } from "../../src/dhcp/server/send.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { Fixture, type FixtureOptions, type Sent } from "./fixture.ts";
import { hex, ip, ipHex } from "./packet.ts";

const everything: FixtureOptions = {
  pool: {
    domainSearch: ["vm.example", "example"],
    ntpServers: [ip("192.168.48.5")],
    routes: [{ destination: parsePrefix("10.0.0.0/9"), router: ip("192.168.48.6") }],
    mtu: 1450,
    tftpServerName: "boot.example",
    bootFileName: "pxelinux.0",
    tftpServers: [ip("192.168.48.7"), ip("192.168.48.8")],
  },
  binding: { hostName: "vm-a" },
};
/** Below 255 bytes: tshark 4.0 does not put together what is cut between fields, as RFC 3396 has it. */
const search = Array.from({ length: 6 }, (_, index) => `${"x".repeat(20 + index)}.example`);
const crowded: FixtureOptions = {
  pool: {
    domainSearch: search,
    bootFileName: "pxelinux.0",
    custom: [
      { code: 224, value: { kind: "bytes", value: new Uint8Array(100) } },
      { code: 225, value: { kind: "bytes", value: new Uint8Array(60) } },
      { code: 226, value: { kind: "bytes", value: new Uint8Array(55) } },
    ],
  },
};

const its = ipHex("192.168.48.81");
const identifier = "ff00000001000100012b3c4d5e020000000011";

interface Case {
  readonly options: FixtureOptions;
  readonly sent: Sent;
  readonly vlan?: number;
  /** tshark's names of fields -> what it reads. */
  readonly fields: Readonly<Record<string, string>>;
}

const cases: readonly Case[] = [
  {
    options: everything,
    sent: { options: { 53: "01", 57: "05dc", 61: identifier } },
    fields: {
      "eth.dst": "02:00:00:00:00:11",
      "ip.dst": "192.168.48.81",
      "udp.dstport": "68",
      "dhcp.ip.your": "192.168.48.81",
      "dhcp.option.dhcp": "2",
      "dhcp.option.ip_address_lease_time": "600",
      "dhcp.option.subnet_mask": "255.255.255.0",
      "dhcp.option.router": "192.168.48.1",
      "dhcp.option.domain_name_server": "192.168.48.3,192.168.48.4",
      "dhcp.option.dhcp_dns_domain_search_list_fqdn": "vm.example,example",
      "dhcp.option.hostname": "vm-a",
      "dhcp.option.interface_mtu": "1450",
      "dhcp.file": "pxelinux.0",
      "dhcp.server": "boot.example",
    },
  },
  {
    options: everything,
    sent: { flags: 0x8000, options: { 53: "03", 50: its, 55: "79012a" } },
    vlan: 817,
    fields: { "vlan.id": "817", "eth.dst": "ff:ff:ff:ff:ff:ff", "ip.dst": "255.255.255.255", "dhcp.option.dhcp": "5" },
  },
  {
    options: {},
    sent: { options: { 53: "03", 50: ipHex("10.9.9.9"), 82: "0104aabbccdd" } },
    fields: { "dhcp.option.dhcp": "6", "ip.dst": "255.255.255.255", "dhcp.option.dhcp_server_id": "192.168.48.2" },
  },
  {
    options: crowded,
    sent: { options: { 53: "01", 55: "77e0060f1ce1e2" } },
    fields: {
      "dhcp.option.dhcp": "2",
      "dhcp.option.option_overload": "3",
      "dhcp.option.dhcp_dns_domain_search_list_fqdn": search.join(","),
    },
  },
  {
    options: {},
    sent: { ciaddr: "192.168.48.81", options: { 53: "08" } },
    fields: { "dhcp.option.dhcp": "5", "dhcp.ip.client": "192.168.48.81", "dhcp.ip.your": "0.0.0.0" },
  },
];

const writer = new ReplyWriter();

function frameOf({ options, sent, vlan }: Case): Uint8Array {
  const outcome = new Fixture(options).outcome(sent);
  const frame = outcome.kind === "reply" ? writer.frame(outcome, hex("020000000001"), vlan) : undefined;
  if (frame === undefined) throw new Error("no frame");
  return frame.bytes.slice();
}

/** The libpcap format: a header in machine byte order, then each frame with its length. Link type 1 is Ethernet. */
function pcap(frames: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(24);
  head.writeUInt32LE(0xa1b2_c3d4, 0);
  head.writeUInt16LE(2, 4);
  head.writeUInt16LE(4, 6);
  head.writeUInt32LE(65_535, 16);
  head.writeUInt32LE(1, 20);
  const records = frames.flatMap((frame) => {
    const record = Buffer.alloc(16);
    record.writeUInt32LE(frame.length, 8);
    record.writeUInt32LE(frame.length, 12);
    return [record, Buffer.from(frame)];
  });
  return Buffer.concat([head, ...records]);
}

describe("tshark reads our frames", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-tshark-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function tshark(frames: readonly Uint8Array[], args: readonly string[]): string[] {
    const file = join(folder, "frames.pcap");
    writeFileSync(file, pcap(frames));
    const checks = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    const run = spawnSync("tshark", ["-n", "-r", file, ...checks, ...args], { encoding: "utf8" });
    if (run.status !== 0) throw new Error(run.stderr);
    return run.stdout.split("\n").filter((line) => line !== "");
  }

  const badness = [
    "-Y",
    "_ws.malformed or _ws.expert.severity >= warning or ip.checksum.status != 1 or udp.checksum.status != 1",
  ];

  it("without a malformed field, a warning or a wrong checksum", () => {
    expect(tshark(cases.map(frameOf), badness)).toEqual([]);
  });

  it("and would say so of a broken one", () => {
    const buffer = new Uint8Array(frameBufferBytes);
    const whole = frameOf(cases[0]!);
    const payload = whole.slice(42);
    // A message type of two bytes, and then one that is cut off.
    payload.set([53, 2], 240);
    buffer.set(payload, payloadAt);
    const headers = {
      ethernet: { destination: hex("020000000011"), source: hex("020000000001") },
      sourceAddress: 1,
      destinationAddress: 2,
    };
    const broken = encodeFrame({ ...headers, sourcePort: 67, destinationPort: 68 }, 250, buffer).slice();
    const flipped = whole.with(60, whole[60]! ^ 1);
    expect(tshark([broken, flipped], badness)).toHaveLength(2);
  });

  it.each(cases.map((each, index) => [index, each] as const))("field by field, case %i", (_, each) => {
    const names = Object.keys(each.fields);
    const wanted = [
      "-T",
      "fields",
      "-E",
      "separator=|",
      "-E",
      "aggregator=,",
      ...names.flatMap((name) => ["-e", name]),
    ];
    const [line] = tshark([frameOf(each)], wanted);
    expect(Object.fromEntries(names.map((name, index) => [name, line!.split("|")[index]]))).toEqual(each.fields);
  });
});
