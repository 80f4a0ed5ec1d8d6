// Our frames of IPv6 as somebody else reads them: Wireshark finds every field, no malformed one, and right checksums.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { datagramAt, encodeDatagram } from "../../../src/dhcp/v6/frame/frame.ts";
import { announceAddresses } from "../../../src/dhcp/v6/neighbor/neighbor-advertisement.ts";
import { finalAdvertisement, RaSender } from "../../../src/dhcp/v6/neighbor/ra-sender.ts";
import type { PoolDefinitionV6 } from "../../../src/dhcp/v6/server/pool-definition.ts";
import { compilePoolV6 } from "../../../src/dhcp/v6/server/pool.ts";
import { ReplyWriterV6 } from "../../../src/dhcp/v6/server/send.ts";
import { icmpFrame, type IcmpPacket } from "../../../src/frame/icmp.ts";
import { hex } from "../packet.ts";
import { type ArrivalText, Fixture, poolDefinition, serverId } from "./fixture.ts";
import { clientId, ip6, ip6Bytes, message, na, oro, pd, rapidCommit, relayed, ta } from "./packet.ts";

const its = "fd00:48::81";
const mac = hex("020000000001");
/** Of two labels each: tshark warns of others. */
const domainSearch = ["vm.example", "lab.example"];
const asked = oro(23, 24, 32, 82, 83);

interface Case {
  readonly name: string;
  readonly frame: () => Uint8Array;
  /** tshark's names of fields -> what it reads. */
  readonly fields: Readonly<Record<string, string>>;
}

function replyTo(datagram: Uint8Array, arrival: ArrivalText = {}, pool: Partial<PoolDefinitionV6> = {}, vlan?: number) {
  const fixture = new Fixture({ pool: { domainSearch, ...pool } });
  const reply = fixture.reply(datagram, arrival);
  const frame = new ReplyWriterV6().frame(reply, mac, vlan);
  if (frame !== undefined) return frame.bytes.slice();
  // A relay's reply goes by UDP: this is what a kernel would make of it.
  const bytes = fixture.bytes(reply);
  const buffer = new Uint8Array(datagramAt + bytes.length);
  buffer.set(bytes, datagramAt);
  const headers = {
    ethernet: { destination: hex("020000000077"), source: mac },
    source: reply.source,
    destination: reply.destination.address,
  };
  return encodeDatagram(headers, { source: 547, destination: 547 }, bytes.length, buffer);
}

const icmp = (packet: IcmpPacket | undefined, vlan?: number) => icmpFrame(packet!, mac, vlan);
const advertised = (changes: Partial<PoolDefinitionV6>) =>
  new RaSender(() => 0).advertisement(compilePoolV6({ ...poolDefinition, domainSearch, ...changes }), 0);
const everything = { mtu: 1450, router: ip6("fe80::1") };

const cases: readonly Case[] = [
  {
    name: "ADVERTISE",
    frame: () => replyTo(message("SOLICIT", [clientId, na(7), ta(8), pd(9), asked])),
    fields: {
      "eth.dst": "02:00:00:00:00:11",
      "ipv6.src": "fe80::2",
      "ipv6.dst": "fe80::11",
      "udp.srcport": "547",
      "udp.dstport": "546",
      "dhcpv6.msgtype": "2",
      "dhcpv6.xid": "0xabc123",
      "dhcpv6.iaid": "00000007,00000009",
      "dhcpv6.iaaddr.ip": its,
      "dhcpv6.option_preference": "255",
      "dhcpv6.status_code": "2,6",
      "dhcpv6.dns_server": "fd00:48::53,fd00:48::54",
      "dhcpv6.search_list_entry": "vm.example.,lab.example.",
      "dhcpv6.duid.type": "1,4",
    },
  },
  {
    name: "REPLY, rapid, tagged",
    frame: () => replyTo(message("SOLICIT", [clientId, rapidCommit, na(7)]), {}, {}, 817),
    fields: { "vlan.id": "817", "dhcpv6.msgtype": "7", "dhcpv6.iaid.t1": "300", "dhcpv6.iaid.t2": "480" },
  },
  {
    name: "REPLY to a REBIND of wrong leases",
    frame: () => replyTo(message("REBIND", [clientId, na(1, "fd00:48::99"), pd(2, "fd00:77::")])),
    fields: {
      "dhcpv6.iaaddr.ip": `fd00:48::99,${its}`,
      "dhcpv6.iaaddr.valid_lifetime": "0,600",
      "dhcpv6.iaprefix.pref_addr": "fd00:77::",
    },
  },
  {
    name: "REPLY to a CONFIRM",
    frame: () => replyTo(message("CONFIRM", [clientId, na(1, "fd00:99::1")])),
    fields: {
      "dhcpv6.msgtype": "7",
      "dhcpv6.status_code": "4",
      "dhcpv6.status_msg": "the address is not this client's",
    },
  },
  {
    name: "REPLY to a RELEASE",
    frame: () => replyTo(message("RELEASE", [clientId, serverId, na(1, its), na(2, its), pd(3)])),
    fields: { "dhcpv6.status_code": "0,3" },
  },
  {
    name: "REPLY to an INFORMATION-REQUEST",
    frame: () => replyTo(message("INFORMATION-REQUEST", [clientId, asked])),
    fields: { "dhcpv6.msgtype": "7", "dhcpv6.lifetime": "600" },
  },
  {
    name: "UseMulticast",
    frame: () => replyTo(message("RENEW", [clientId, serverId, na(1, its)]), { destination: "fe80::2" }),
    fields: { "dhcpv6.status_code": "5" },
  },
  {
    name: "RELAY-REPL in a RELAY-REPL",
    frame: () => {
      const inner = relayed(message("SOLICIT", [clientId, na(7)]), {
        peer: "fe80::ff:fe00:11",
        options: [[18, "65746831"]],
      });
      return replyTo(relayed(inner, { hops: 1, link: "fd00:48::1", peer: "fe80::77" }), {
        acceptRelays: true,
        source: "fd00:1::1",
      });
    },
    fields: {
      "udp.dstport": "547",
      "dhcpv6.msgtype": "13,13,2",
      "dhcpv6.hopcount": "1,0",
      "dhcpv6.linkaddr": "fd00:48::1,::",
      "dhcpv6.peeraddr": "fe80::77,fe80::ff:fe00:11",
      "dhcpv6.iaaddr.ip": its,
    },
  },
  {
    name: "router advertisement",
    frame: () => icmp(advertised(everything)),
    fields: {
      "eth.dst": "33:33:00:00:00:01",
      "ipv6.src": "fe80::1",
      "ipv6.dst": "ff02::1",
      "ipv6.hlim": "255",
      "icmpv6.type": "134",
      "icmpv6.nd.ra.flag.m": "1",
      "icmpv6.nd.ra.flag.o": "1",
      "icmpv6.nd.ra.router_lifetime": "1800",
      "icmpv6.opt.prefix": "fd00:48::",
      "icmpv6.opt.prefix.length": "64",
      "icmpv6.opt.prefix.flag.l": "1",
      "icmpv6.opt.prefix.flag.a": "0",
      "icmpv6.opt.mtu": "1450",
      "icmpv6.opt.rdnss": "fd00:48::53,fd00:48::54",
      "icmpv6.opt.dnssl": "vm.example,lab.example",
    },
  },
  {
    name: "router advertisement without a router, tagged",
    frame: () => icmp(advertised({}), 817),
    fields: { "vlan.id": "817", "icmpv6.nd.ra.router_lifetime": "0", "icmpv6.nd.ra.flag.m": "1" },
  },
  {
    name: "the last router advertisement",
    frame: () => icmp(finalAdvertisement(compilePoolV6({ ...poolDefinition, ...everything }))),
    fields: { "ipv6.src": "fe80::1", "icmpv6.nd.ra.router_lifetime": "0" },
  },
  {
    name: "neighbour advertisement",
    frame: () => icmp(announceAddresses(compilePoolV6(poolDefinition), mac)[0]),
    fields: {
      "icmpv6.type": "136",
      "icmpv6.nd.na.target_address": "fe80::2",
      "icmpv6.nd.na.flag.o": "1",
      "icmpv6.opt.linkaddr": "02:00:00:00:00:01",
    },
  },
];

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
    const run = spawnSync("tshark", ["-n", "-r", file, "-o", "udp.check_checksum:TRUE", ...args], { encoding: "utf8" });
    if (run.status !== 0) throw new Error(run.stderr);
    return run.stdout.split("\n").filter((line) => line !== "");
  }

  const badness = [
    "-Y",
    "_ws.malformed or _ws.expert.severity >= warning or udp.checksum.status != 1 or icmpv6.checksum.status != 1",
  ];

  it("without a malformed field, a warning or a wrong checksum", () => {
    expect(
      tshark(
        cases.map(({ frame }) => frame()),
        badness,
      ),
    ).toEqual([]);
  });

  it("and would say so of a broken one", () => {
    const whole = cases[0]!.frame();
    const advertisement = cases[8]!.frame();
    expect(tshark([whole.with(70, whole[70]! ^ 1), advertisement.with(60, 1)], badness)).toHaveLength(2);
    // A preference of no bytes, and so the next option begins within it, under a right checksum.
    const payload = whole.slice(62);
    payload.set([0, 0], 4 + 18 + 22 + 2);
    const buffer = new Uint8Array(datagramAt + payload.length);
    buffer.set(payload, datagramAt);
    const headers = {
      ethernet: { destination: mac, source: mac },
      source: ip6Bytes("fe80::2"),
      destination: ip6Bytes("fe80::11"),
    };
    const broken = encodeDatagram(headers, { source: 547, destination: 546 }, payload.length, buffer);
    expect(tshark([broken], badness)).toHaveLength(1);
  });

  it.each(cases)("field by field: $name", ({ frame, fields }) => {
    const names = Object.keys(fields);
    const wanted = [
      "-T",
      "fields",
      "-E",
      "separator=|",
      "-E",
      "aggregator=,",
      ...names.flatMap((name) => ["-e", name]),
    ];
    const [line] = tshark([frame()], wanted);
    expect(Object.fromEntries(names.map((name, index) => [name, line!.split("|")[index]]))).toEqual(fields);
  });
});
