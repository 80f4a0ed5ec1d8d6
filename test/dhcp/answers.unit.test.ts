// Answers beyond the tables: parameters in the client's order, relays, identities, pools, servers, changes, limits.
import { describe, expect, it } from "vitest";

import { compileBinding } from "../../src/dhcp/server/binding.ts";
import { Network } from "../../src/dhcp/server/network.ts";
import { compilePool } from "../../src/dhcp/server/pool.ts";
import { parseMac } from "../../src/net/mac.ts";
import { parsePrefix } from "../../src/net/prefix.ts";
import { bindingDefinition, effectsOf, Fixture, otherMac, poolDefinition, type Sent, storyOf } from "./fixture.ts";
import { hex, ip, ipHex, packet, unpackOptions } from "./packet.ts";

const ours = ipHex("192.168.48.2");
const its = ipHex("192.168.48.81");

const everything = {
  domainSearch: ["vm.example", "example"],
  ntpServers: [ip("192.168.48.5")],
  routes: [{ destination: parsePrefix("10.0.0.0/8"), router: ip("192.168.48.6") }],
  mtu: 1450,
  vendorInformation: hex("010203"),
  tftpServerName: "boot.example",
  bootFileName: "pxelinux.0",
  tftpServers: [ip("192.168.48.7"), ip("192.168.48.8")],
  custom: [
    { code: 224, value: { kind: "text", value: "site" } },
    { code: 252, value: { kind: "text", value: "http://wpad/" }, always: true },
  ],
} as const;

/** A field with a name in it has no options. */
const unpackMaybe = (field: Uint8Array) => (field.includes(255) ? unpackOptions(field) : []);
const codesOf = (fixture: Fixture, sent: Sent) => fixture.reply(sent).options.map(([code]) => code);

describe("parameters", () => {
  const first = [53, 54, 51, 58, 59, 1];

  it("every option, byte by byte", () => {
    const fixture = new Fixture({ pool: everything, binding: { hostName: "vm-a" } });
    const { options } = fixture.reply({
      options: { 53: "01", 57: "05dc", 61: "01020000000011", 82: "0104aabbccdd" },
    });
    expect(options).toEqual([
      [53, "02"],
      [54, "c0a83002"],
      [51, "00000258"],
      [58, "0000012c"],
      [59, "0000020d"],
      [1, "ffffff00"],
      [61, "01020000000011"],
      [12, "766d2d61"],
      [3, "c0a83001"],
      [6, "c0a83003c0a83004"],
      [15, Buffer.from("vm.example").toString("hex")],
      [119, "02766d076578616d706c6500c003"],
      [121, "080ac0a8300600c0a83001"],
      [28, "c0a830ff"],
      [26, "05aa"],
      [42, "c0a83005"],
      [66, Buffer.from("boot.example").toString("hex")],
      [67, Buffer.from("pxelinux.0").toString("hex")],
      [150, "c0a83007c0a83008"],
      [43, "010203"],
      [224, "73697465"],
      [252, Buffer.from("http://wpad/").toString("hex")],
      [82, "0104aabbccdd"],
    ]);
  });

  it.each<readonly [string, string, readonly number[]]>([
    ["asked for in this order", "060f03", [6, 15, 3]],
    ["mask before routers, whatever the order", "0301", [3]],
    ["twice is once", "060606030306", [6, 3]],
    ["what is not set is absent", "0c2c2f0642", [6, 66]],
    ["those that have to be there are not sent twice", "353633013a3b060c", [6]],
    ["none", "32", []],
  ])("%s", (_, list, codes) => {
    const sent = { options: { 53: "01", 55: list, 57: "05dc" } };
    expect(codesOf(new Fixture({ pool: everything }), sent)).toEqual([...first, ...codes, 252]);
  });

  it("an unset option is absent, and so is an empty list: never a length of zero", () => {
    const pool = { routers: [], dnsServers: [], ntpServers: [], domainSearch: [], routes: [], tftpServers: [] };
    const fixture = new Fixture({ pool });
    const { options } = fixture.reply({ options: { 53: "01" } });
    expect(options.map(([code]) => code)).toEqual([...first, 15, 28]);
    expect(options.every(([, data]) => data.length > 0)).toBe(true);
  });

  it("an option of the binding goes before the pool's", () => {
    const custom = [{ code: 15, value: { kind: "text", value: "own.example" } }] as const;
    const fixture = new Fixture({ binding: { hostName: "vm-a", custom } });
    const { options } = fixture.reply({ options: { 53: "01", 55: "0f0c" } });
    expect(options.slice(first.length)).toEqual([
      [15, Buffer.from("own.example").toString("hex")],
      [12, "766d2d61"],
    ]);
  });

  it("a lease without end has no T1 and no T2", () => {
    const fixture = new Fixture({ pool: { leaseSeconds: 0xffff_ffff } });
    expect(codesOf(fixture, { options: { 53: "01", 55: "3a3b" } })).toEqual([53, 54, 51, 1]);
  });

  it("a link of two addresses has no broadcast address", () => {
    const fixture = new Fixture({ pool: { subnet: parsePrefix("192.168.48.80/31") } });
    expect(codesOf(fixture, { options: { 53: "01", 55: "1c" } })).toEqual(first);
  });

  it("what does not fit goes into file and sname, and the names that stood there become options", () => {
    const long = Array.from({ length: 12 }, (_, index) => `${"x".repeat(20 + index)}.example`);
    const fixture = new Fixture({ pool: { ...everything, domainSearch: long } });
    const reply = fixture.reply({ options: { 53: "01", 55: "7719060f79c0e0fc" } });
    const inFile = unpackOptions(reply.file);
    const inSname = unpackOptions(reply.sname);
    expect(reply.options.at(-1)).toEqual([52, "03"]);
    const all = [...reply.options, ...inFile, ...inSname].map(([code]) => code);
    expect(all).toEqual(expect.arrayContaining([54, 51, 119, 6, 15, 121, 224, 252, 66, 67]));
  });
});

it("a list of names that is too long costs no client its routes", () => {
  const long = Array.from({ length: 14 }, (_, index) => `${"x".repeat(18 + index)}.example`);
  const fixture = new Fixture({ pool: { ...everything, domainSearch: [...long, ...long.map((name) => `y${name}`)] } });
  const { options, file, sname } = fixture.reply({ options: { 53: "01", 55: "77060f1c1a2a791c" } });
  const codes = [options, unpackMaybe(file), unpackMaybe(sname)].flat().map(([code]) => code);
  expect(codes).not.toContain(119);
  expect(codes).toEqual(expect.arrayContaining([6, 15, 28, 26, 42, 121, 252]));
});

describe("sizes", () => {
  it.each<readonly [string, string | undefined, number]>([
    ["without option 57", undefined, 576 - 28],
    ["less than the least is the least", "0040", 576 - 28],
    ["576", "0240", 576 - 28],
    ["1000", "03e8", 1000 - 28],
    ["more than Ethernet carries", "ffff", 1500 - 28],
    ["of a wrong length is none", "05", 576 - 28],
  ])("%s", (_, size, limit) => {
    const custom = Array.from({ length: 20 }, (_each, index) => ({
      code: 200 + index,
      value: { kind: "bytes", value: new Uint8Array(100).fill(index + 1) } as const,
    }));
    const fixture = new Fixture({ pool: { custom } });
    const bytes = fixture.replyBytes({ options: { 53: "01", ...(size === undefined ? {} : { 57: size }) } });
    expect(bytes.length).toBeLessThanOrEqual(limit);
    expect(bytes.length).toBeGreaterThan(limit - 102);
  });

  it.each([1500, 1280, 1000, 600])("a reply passes a link of %i bytes", (mtu) => {
    const custom = [224, 225, 226, 227, 228, 229].map((code) => ({
      code,
      value: { kind: "bytes", value: new Uint8Array(250) } as const,
    }));
    const bytes = new Fixture({ pool: { mtu, custom } }).replyBytes({ options: { 53: "01", 57: "ffff" } });
    expect(bytes.length).toBeLessThanOrEqual(mtu - 28);
    expect(bytes.length).toBeGreaterThan(mtu - 28 - 252);
  });

  it("at least 300 bytes", () => {
    expect(new Fixture().replyBytes({ options: { 53: "01", 55: "01" } })).toHaveLength(300);
  });
});

describe("relays", () => {
  const information = "0104aabbccdd0206020000000099";
  const relay = { giaddr: "192.168.48.254", acceptRelays: true };

  it("their information comes back as it was, last of all", () => {
    for (const options of [{ 53: "01" }, { 53: "03", 50: its }, { 53: "03", 50: ipHex("10.9.9.9") }]) {
      const reply = new Fixture().reply({ ...relay, options: { ...options, 82: information } });
      expect(reply.options.at(-1)).toEqual([82, information]);
    }
  });

  it("their information comes back even where it cannot be read, and from a switch without an address", () => {
    expect(new Fixture().reply({ ...relay, options: { 53: "01", 82: "01ff" } }).options.at(-1)).toEqual([82, "01ff"]);
    expect(new Fixture().reply({ options: { 53: "01", 82: information } }).options.at(-1)).toEqual([82, information]);
  });

  it("information that leaves no room for the rest is left out", () => {
    const options = [
      [53, "01"],
      [82, "01ff".padEnd(510, "a")],
      [82, "02ff".padEnd(400, "b")],
    ] as const;
    const reply = new Fixture().reply({ ...relay, options });
    expect(reply.options.map(([code]) => code)).not.toContain(82);
    expect(reply.options.slice(0, 3).map(([code]) => code)).toEqual([53, 54, 51]);
  });

  const second = () => {
    const fixture = new Fixture();
    const network = new Network("default/vlan-49");
    const subnet = parsePrefix("10.49.0.0/24");
    network.setPool(
      compilePool({ ...poolDefinition, name: "default/net-49", subnet, serverIdentifier: ip("10.49.0.2") }),
    );
    network.bindings.set(compileBinding({ ...bindingDefinition, address: ip("10.49.0.81"), pool: "default/net-49" }));
    fixture.server.setNetwork(network);
    return fixture;
  };

  it.each<readonly [string, Sent, string]>([
    ["giaddr names the network", { ...relay, giaddr: "10.49.0.254" }, "OFFER 10.49.0.81 to relay 10.49.0.254:67"],
    [
      "link selection goes before giaddr",
      { ...relay, options: { 53: "01", 82: "05040a310001" } },
      "OFFER 10.49.0.81 to relay 192.168.48.254:67",
    ],
    [
      "a link selection of three bytes is none",
      { ...relay, options: { 53: "01", 82: "05030a3100" } },
      "OFFER 192.168.48.81 to relay 192.168.48.254:67",
    ],
    ["a network that nobody serves", { ...relay, giaddr: "10.50.0.254" }, "silence: unknown-network"],
    ["where no relay may send", { giaddr: "10.49.0.254" }, "silence: relay-not-allowed"],
    [
      "link selection without a relay says nothing",
      { options: { 53: "01", 82: "05040a310001" } },
      "OFFER 192.168.48.81 to 192.168.48.81:68 at 020000000011",
    ],
  ])("%s", (_, sent, story) => {
    expect(second().story({ options: { 53: "01" }, ...sent })).toBe(story);
  });

  it("a network that is served no more is unknown", () => {
    const fixture = second();
    const sent = { ...relay, giaddr: "10.49.0.254", options: { 53: "01" } };
    fixture.server.deleteNetwork("default/vlan-49");
    expect(fixture.story(sent)).toBe("silence: unknown-network");
    expect(fixture.server.network("default/vlan-49")).toBeUndefined();
  });

  it.each<readonly [string, Sent, string]>([
    ["renews", { options: { 53: "03" } }, "ACK 10.49.0.81 to 10.49.0.81:68 at 020000000011"],
    ["releases", { options: { 53: "07", 54: ipHex("10.49.0.2") } }, "silence: recorded"],
    ["asks for parameters", { options: { 53: "08" } }, "ACK to 10.49.0.81:68 at 020000000011"],
  ])("a client behind one %s by unicast: its address tells the network", (_, sent, story) => {
    const outcome = second().handle(packet({ ciaddr: "10.49.0.81", ...sent }), {
      network: undefined,
      acceptRelays: true,
    });
    expect(storyOf(outcome)).toBe(story);
  });

  it("a socket of relays has no network of its own", () => {
    const outcome = second().handle(packet({ options: { 53: "01" } }), { network: undefined, acceptRelays: true });
    expect(outcome).toMatchObject({ reason: "unknown-network" });
  });
});

describe("who a client is", () => {
  const identifier = "ff00000001000100012b3c4d5e020000000011";

  it("a MAC, whatever identifier the system of the day sends", () => {
    const fixture = new Fixture();
    for (const each of ["01020000000011", identifier, "00766d2d61", "61"]) {
      expect(fixture.story({ options: { 53: "01", 61: each } })).toContain("OFFER 192.168.48.81");
    }
  });

  it("an identifier that a binding names, from any MAC", () => {
    const fixture = new Fixture();
    fixture.network.bindings.set(
      compileBinding({ address: ip("192.168.48.90"), pool: "default/net-48", clientIdentifier: hex(identifier) }),
    );
    const mac = parseMac("02:00:00:00:00:77");
    expect(fixture.story({ mac, options: { 53: "01", 61: identifier } })).toContain("OFFER 192.168.48.90");
    expect(fixture.story({ mac, options: { 53: "01", 61: `${identifier}00` } })).toBe("silence: unknown-client");
    expect(fixture.story({ options: { 53: "01", 61: identifier } })).toContain("OFFER 192.168.48.90");
  });
});

it("effects name the MAC that a client has today, not the one that its binding knows", () => {
  const fixture = new Fixture({ binding: { clientIdentifier: hex("00766d") } });
  const sent = { options: { 53: "03", 50: its, 61: "00766d" } };
  const today = parseMac("02:00:00:00:00:77");
  expect(effectsOf(fixture.outcome(sent))).toEqual(["leased 192.168.48.81 02:00:00:00:00:11 until 600000"]);
  expect(effectsOf(fixture.outcome({ ...sent, mac: today }))).toEqual([
    "leased 192.168.48.81 02:00:00:00:00:77 until 600000",
  ]);
});

describe("changes are served from the next message on", () => {
  const discover = { options: { 53: "01", 55: "06" } };

  it("options of the pool", () => {
    const fixture = new Fixture();
    fixture.network.setPool(compilePool({ ...poolDefinition, dnsServers: [ip("9.9.9.9")] }));
    expect(fixture.reply(discover).options.at(-1)).toEqual([6, "09090909"]);
  });

  it("an address that goes to another client", () => {
    const fixture = new Fixture();
    fixture.network.bindings.set(compileBinding({ ...bindingDefinition, mac: otherMac }));
    expect(fixture.story(discover)).toBe("silence: unknown-client");
    expect(fixture.story({ ...discover, mac: otherMac })).toContain("OFFER 192.168.48.81");
    expect(fixture.network.bindings.size).toBe(1);
  });

  it("a client that gets another address is told so when it renews", () => {
    const fixture = new Fixture();
    fixture.network.bindings.set(compileBinding({ ...bindingDefinition, address: ip("192.168.48.90") }));
    expect(fixture.story({ ciaddr: "192.168.48.81", options: { 53: "03" } })).toBe("NAK to everybody:68");
    expect(fixture.story(discover)).toContain("OFFER 192.168.48.90");
  });

  it("a binding that is gone: silence, so that the client keeps its lease to the end", () => {
    const fixture = new Fixture();
    fixture.network.bindings.delete(ip("192.168.48.81").value);
    expect(fixture.story({ ciaddr: "192.168.48.81", options: { 53: "03" } })).toBe("silence: unknown-client");
  });

  it.each(["10.9.9.9", "192.168.48.2"])(
    "a binding of %s, which no client of the pool can have, is not served",
    (address) => {
      const fixture = new Fixture({ binding: { address: ip(address) } });
      expect(fixture.story(discover)).toBe("silence: no-pool");
      expect(fixture.story({ options: { 53: "03", 50: ipHex(address) } })).toBe("silence: no-pool");
    },
  );

  it("a pool that is gone, and comes back", () => {
    const fixture = new Fixture();
    fixture.network.deletePool("default/net-48");
    expect(fixture.story(discover)).toBe("silence: no-pool");
    fixture.network.setPool(compilePool(poolDefinition));
    expect(fixture.story(discover)).toContain("OFFER");
  });
});

describe("several pools of one network", () => {
  const fixture = () => {
    const both = new Fixture();
    const subnet = parsePrefix("10.60.0.0/16");
    const server = ip("10.60.0.2");
    both.network.setPool(compilePool({ ...poolDefinition, name: "default/wide", subnet, serverIdentifier: server }));
    both.network.bindings.set(compileBinding({ ...bindingDefinition, address: ip("10.60.1.1"), pool: "default/wide" }));
    return both;
  };

  it("each client gets the mask and the server of its own", () => {
    const options = new Map(fixture().reply({ options: { 53: "01" } }).options);
    expect([options.get(1), options.get(54)]).toEqual(["ffff0000", "0a3c0002"]);
    const other = new Map(fixture().reply({ mac: otherMac, options: { 53: "01" } }).options);
    expect([other.get(1), other.get(54)]).toEqual(["ffffff00", "c0a83002"]);
  });

  it("a client that chose the other pool's server chose us", () => {
    expect(fixture().story({ options: { 53: "03", 50: its, 54: ours } })).toBe("NAK to everybody:68");
  });

  it("INFORM is answered by the pool that its address is of", () => {
    const options = new Map(fixture().reply({ ciaddr: "192.168.48.7", options: { 53: "08" } }).options);
    expect([options.get(1), options.get(54)]).toEqual(["ffffff00", "c0a83002"]);
  });
});

it("several servers with the same bindings give the same answer, byte by byte", () => {
  const sent: Sent = { options: { 53: "03", 50: its, 54: ours, 55: "0103060f", 61: "01020000000011" } };
  expect(new Fixture({ pool: everything }).replyBytes(sent)).toEqual(
    new Fixture({ pool: everything }).replyBytes(sent),
  );
});

it("a client that asks too often is not answered, until time has passed; others are", () => {
  const fixture = new Fixture({ rateLimit: { burst: 2, perSecond: 1, clientsMax: 10 } });
  const story = (nowMs: number, fields: Sent = {}) => fixture.story({ options: { 53: "01" }, nowMs, ...fields });
  expect([story(0), story(0), story(0)].map((each) => each.slice(0, 8))).toEqual(["OFFER 19", "OFFER 19", "silence:"]);
  expect(story(999)).toBe("silence: rate-limited");
  expect(story(999, { mac: otherMac })).toContain("OFFER");
  expect(story(1000)).toContain("OFFER");
});

it("everything is counted by closed sets of names", () => {
  const fixture = new Fixture();
  fixture.outcome({ options: { 53: "01" } });
  fixture.outcome({ options: { 53: "03", 50: its } });
  fixture.outcome({ options: { 53: "03", 50: ipHex("10.9.9.9") } });
  fixture.outcome({ options: { 53: "63" } });
  fixture.outcome({ op: 2 });
  fixture.handle(hex("00"));
  const ofPool = fixture.network.tally(poolDefinition.name);
  expect(Object.fromEntries(ofPool.received)).toEqual({ DISCOVER: 1, REQUEST: 2, other: 1 });
  expect(Object.fromEntries(ofPool.replies)).toEqual({ OFFER: 1, ACK: 1, NAK: 1 });
  expect(Object.fromEntries(ofPool.silences)).toEqual({ "unsupported-type": 1 });
  const { received, replies, silences, faults } = fixture.network.tally();
  expect(Object.fromEntries(received)).toEqual({ other: 2 });
  expect(replies.size).toBe(0);
  expect(Object.fromEntries(silences)).toEqual({ "not-a-request": 1, malformed: 1 });
  expect(Object.fromEntries(faults)).toEqual({ "message-too-short": 1 });
  expect(fixture.server.tally.received.size).toBe(0);
  fixture.handle(packet({ options: { 53: "01" } }), { network: undefined });
  expect(Object.fromEntries(fixture.server.tally.silences)).toEqual({ "unknown-network": 1 });
});
