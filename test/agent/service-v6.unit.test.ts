// IPv6 of one network as an agent serves it, frame by frame, with a clock that moves when it is told to.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { ManualClock } from "../../src/kube/testing/manual-clock.ts";
import { parseMac } from "../../src/net/mac.ts";
import { clientId, message, na, oro, relayed } from "../dhcp/v6/packet.ts";
import { ip6, serverId } from "./service-v6-link.ts";
import { agentLinkLocal, agentMac, otherPool, pool, router, ServiceV6Link } from "./service-v6-link.ts";

const minuteMs = 60_000;
const guest = parseMac("02:00:00:00:00:11");
const stranger = parseMac("02:00:00:00:00:99");
const toAll = (from: string, lifetime: number) => `RA ${from} > ff02::1 lifetime ${lifetime}`;

let clock: ManualClock;
let link: ServiceV6Link;
beforeEach(() => {
  clock = new ManualClock();
  link = new ServiceV6Link(clock);
});
afterEach(async () => {
  await link.end();
  expect(clock.pending).toBe(0);
});

describe("router advertisements", () => {
  it("come at once and three times, in the name of the pool's router", async () => {
    link.service.setPool({ ...pool, router: ip6(router) });
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    expect(link.take("RA")).toEqual(Array(3).fill(toAll(router, 1800)));
    expect(link.service.advertised(pool.name)).toBe(3);
  });

  it("without a router come from the agent's own address, with no lifetime, and have no last word", async () => {
    link.service.setPool(pool);
    link.service.linked(agentMac);
    await clock.advance(1000);
    link.service.deletePool(pool.name, false);
    await clock.advance(minuteMs);
    expect(link.take("RA")).toEqual([toAll(agentLinkLocal, 0)]);
  });

  it("take the router back where it changes, where the pool names none any more, and where the pool goes", async () => {
    link.service.setPool({ ...pool, router: ip6(router) });
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take("RA");
    link.service.setPool({ ...pool, router: ip6("fe80::2") });
    await clock.advance(1000);
    expect(link.take("RA")).toEqual([toAll(router, 0), toAll("fe80::2", 1800)]);
    await clock.advance(minuteMs);
    link.take("RA");
    link.service.setPool(pool);
    await clock.advance(1000);
    expect(link.take("RA")).toEqual([toAll("fe80::2", 0), toAll(agentLinkLocal, 0)]);
    link.service.setPool({ ...pool, router: ip6(router) });
    await clock.advance(minuteMs);
    link.take("RA");
    link.service.deletePool(pool.name, false);
    await clock.advance(10 * minuteMs);
    expect(link.take("RA")).toEqual([toAll(router, 0)]);
    expect(link.service.isServing).toBe(false);
  });

  it("end in silence where the pool is paused", async () => {
    link.service.setPool({ ...pool, router: ip6(router) });
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take("RA");
    link.service.deletePool(pool.name, true);
    await clock.advance(10 * minuteMs);
    expect(link.take("RA")).toEqual([]);
  });

  it("stop where `advertise` is turned off, and come at once where it is turned on, after any time", async () => {
    link.service.setPool({ ...pool, router: ip6(router), advertise: false });
    link.service.linked(agentMac);
    link.solicit(guest, "fe80::11");
    await clock.advance(5 * minuteMs);
    expect(link.take("RA")).toEqual([]);
    link.service.setPool({ ...pool, router: ip6(router), advertise: true });
    await clock.advance(1000);
    expect(link.take("RA")).toEqual([toAll(router, 1800)]);
    await clock.advance(minuteMs);
    link.take("RA");
    link.service.setPool({ ...pool, router: ip6(router), advertise: false });
    await clock.advance(20 * minuteMs);
    expect(link.take("RA")).toEqual([toAll(router, 0)]);
  });

  it("answer who asks, alone", async () => {
    link.service.setPool({ ...pool, router: ip6(router) });
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take("RA");
    link.solicit(guest, "fe80::11");
    await clock.advance(500);
    expect(link.take("RA")).toEqual([`RA ${router} > fe80::11 lifetime 1800`]);
  });
});

describe("two pools with the same router", () => {
  const both = () => {
    for (const each of [pool, otherPool]) link.service.setPool({ ...each, router: ip6(router) });
    link.service.linked(agentMac);
  };

  it("keep it while one of them names it, and take it back with the last", async () => {
    both();
    await clock.advance(minuteMs);
    link.take("RA");
    link.service.deletePool(pool.name, false);
    expect(link.take("RA")).toEqual([]);
    link.service.deletePool(otherPool.name, false);
    expect(link.take("RA")).toEqual([toAll(router, 0)]);
  });

  it("keep it where one advertises no more, or names another", async () => {
    both();
    await clock.advance(minuteMs);
    link.take("RA");
    link.service.setPool({ ...pool, router: ip6(router), advertise: false });
    await clock.advance(1000);
    expect(link.take("RA")).toEqual([]);
    link.service.setPool({ ...otherPool, router: ip6("fe80::2") });
    await clock.advance(1000);
    expect(link.take("RA")).toEqual([toAll(router, 0), toAll("fe80::2", 1800)]);
  });

  it("of which an agent serves one: it contradicts who takes the router back, and no more often than is allowed", async () => {
    link.service.setPool({ ...pool, router: ip6(router) });
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take("RA");
    link.advertise(stranger, router, 0);
    await clock.advance(499);
    expect(link.take("RA")).toEqual([]);
    await clock.advance(1);
    expect(link.take("RA")).toEqual([toAll(router, 1800)]);
    // Sixty seconds of one every tenth of a second.
    for (let sent = 0; sent < 600; sent++) {
      link.advertise(stranger, router, 0);
      await clock.advance(100);
    }
    expect(link.take("RA").length).toBeLessThanOrEqual(21);
  });

  it("an advertisement of another router, or with a lifetime, or from beyond the link, is no business of ours", async () => {
    link.service.setPool({ ...pool, router: ip6(router) });
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take("RA");
    link.advertise(stranger, "fe80::3", 0);
    link.advertise(stranger, router, 1800);
    link.advertise(stranger, router, 0, 64);
    await clock.advance(minuteMs);
    expect(link.take("RA")).toEqual([]);
  });

  it("what was taken back because the pool has changed is not contradicted", async () => {
    link.service.setPool({ ...pool, router: ip6(router) });
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take("RA");
    // The other agent of the pool has heard of it first.
    link.advertise(stranger, router, 0);
    link.service.deletePool(pool.name, false);
    await clock.advance(minuteMs);
    expect(link.take("RA")).toEqual([toAll(router, 0)]);
  });
});

describe("DHCPv6", () => {
  beforeEach(async () => {
    link.service.setPool(pool);
    link.bind("fd00:48::81", guest);
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take();
  });

  it("gives a guest its address, and a stranger nothing", () => {
    link.ask(guest, message("SOLICIT", [clientId, na(1)]));
    link.ask(stranger, message("SOLICIT", [clientId, na(1)]));
    link.ask(guest, message("REQUEST", [clientId, serverId(pool), na(1)]));
    expect(link.take()).toEqual(["ADVERTISE fd00:48::81", "REPLY fd00:48::81"]);
    expect(link.effects.map(({ kind }) => kind)).toEqual(["leased"]);
  });

  it("answers an INFORMATION-REQUEST with what is asked for", () => {
    link.service.setPool({ ...pool, dnsServers: [ip6("fd00:48::53")] });
    link.ask(guest, message("INFORMATION-REQUEST", [clientId, oro(23)]));
    expect(link.take()).toEqual(["REPLY 23=fd00:48::53"]);
  });

  it("gives a declined address to nobody for the pool's time, and tells whoever asks for the effects", async () => {
    link.ask(guest, message("REQUEST", [clientId, serverId(pool), na(1)]));
    link.ask(guest, message("DECLINE", [clientId, serverId(pool), na(1, "fd00:48::81")]));
    expect(link.take()).toEqual(["REPLY fd00:48::81", "REPLY Success"]);
    expect(link.effects.slice(1)).toMatchObject([
      { kind: "quarantined", untilMs: clock.wallMs() + 10 * minuteMs },
      { kind: "conflict", mac: guest },
    ]);
    const solicit = message("SOLICIT", [clientId, na(1)]);
    await clock.advance(10 * minuteMs - 1);
    link.take();
    link.ask(guest, solicit);
    expect(link.take()).toEqual([]);
    await clock.advance(1);
    link.take();
    link.ask(guest, solicit);
    expect(link.take()).toEqual(["ADVERTISE fd00:48::81"]);
  });

  it("heeds a quarantine that another agent tells of, until it is over", () => {
    const solicit = message("SOLICIT", [clientId, na(1)]);
    link.service.setQuarantine(ip6("fd00:48::81"), Infinity);
    link.ask(guest, solicit);
    expect(link.take()).toEqual([]);
    link.service.setQuarantine(ip6("fd00:48::81"), undefined);
    link.ask(guest, solicit);
    expect(link.take()).toEqual(["ADVERTISE fd00:48::81"]);
  });

  it("is silent while the pool is paused or the link is down", () => {
    const solicit = message("SOLICIT", [clientId, na(1)]);
    link.service.linked(undefined);
    link.ask(guest, solicit);
    link.service.linked(agentMac);
    link.service.deletePool(pool.name, true);
    link.ask(guest, solicit);
    expect(link.take()).toEqual([]);
    link.service.setPool(pool);
    link.ask(guest, solicit);
    expect(link.take()).toEqual(["ADVERTISE fd00:48::81"]);
  });
});

describe("relays", () => {
  const asked = relayed(message("SOLICIT", [clientId, na(1)]), { link: "fd00:48::1", peer: "fe80::ff:fe00:11" });

  it("are refused, since guests could do the same", async () => {
    link.service.setPool(pool);
    link.bind("fd00:48::81", guest);
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take();
    link.ask(stranger, asked);
    expect(link.take()).toEqual([]);
    expect([...link.service.network.tally().silences]).toEqual([["relay-not-allowed", 1]]);
  });

  it("are answered where they may, with what their client gets; a client is served beside them", async () => {
    const open = new ServiceV6Link(clock, { acceptRelays: true });
    open.service.setPool(pool);
    open.bind("fd00:48::81", guest);
    open.service.linked(agentMac);
    await clock.advance(minuteMs);
    open.take();
    open.ask(stranger, asked);
    open.ask(guest, message("SOLICIT", [clientId, na(1)]));
    expect(open.take()).toEqual([
      `relayed fd00:48::1 fe80::ff:fe00:11 by ${stranger} port 547: ADVERTISE fd00:48::81`,
      "ADVERTISE fd00:48::81",
    ]);
    await open.end();
  });
});

describe("neighbours and groups", () => {
  const serverAddress = "fd00:48::2";

  it("the server's address is told by its holder alone, the agent's own link-local one by the agent", () => {
    link.service.setPool({ ...pool, serverAddress: ip6(serverAddress) });
    link.service.linked(agentMac);
    link.who(guest, "fd00:48::81", serverAddress);
    expect(link.take("NA")).toEqual([]);
    link.who(guest, "fd00:48::81", agentLinkLocal);
    expect(link.take("NA")).toEqual([`NA ${agentLinkLocal} > fd00:48::81 is ${agentMac}`]);
    link.holds.add(pool.name);
    link.service.announce(pool.name);
    expect(link.take("NA")).toContain(`NA ${serverAddress} > ff02::1 is ${agentMac}`);
    link.who(guest, "fd00:48::81", serverAddress);
    link.who(guest, "fd00:48::81", "fd00:48::99");
    expect(link.take("NA")).toEqual([`NA ${serverAddress} > fd00:48::81 is ${agentMac}`]);
  });

  it("the groups where neighbours ask are told to switches, every minute and when one is added", async () => {
    const own = ["ff02::1:2", "ff02::2", "ff02::1:ffaa:1"];
    link.service.setPool(pool);
    link.service.linked(agentMac);
    await clock.advance(0);
    expect(link.take("MLD")).toEqual([`MLD ${own.join(" ")}`]);
    await clock.advance(minuteMs);
    expect(link.take("MLD")).toEqual([`MLD ${own.join(" ")}`]);
    expect(link.service.groups).toEqual([]);
    link.service.setPool({ ...pool, serverAddress: ip6(serverAddress) });
    await clock.advance(0);
    expect(link.take("MLD")).toEqual([`MLD ff02::1:2 ff02::2 ff02::1:ff00:2 ff02::1:ffaa:1`]);
    expect(link.service.groups).toEqual(["33:33:ff:00:00:02"]);
  });

  it("a link that is back with another MAC is another source of everything, and tells the switches", async () => {
    link.service.setPool(pool);
    link.bind("fd00:48::81", guest);
    link.service.linked(agentMac);
    await clock.advance(minuteMs);
    link.take();
    link.service.linked(undefined);
    await clock.advance(minuteMs);
    expect(link.take()).toEqual([]);
    link.service.linked(parseMac("02:00:00:bb:00:01"));
    await clock.advance(0);
    const other = "fe80::ff:febb:1";
    expect(link.take()).toEqual(["MLD ff02::1:2 ff02::2 ff02::1:ffbb:1", toAll(other, 0)]);
    link.who(guest, "fe80::11", agentLinkLocal);
    link.who(guest, "fe80::11", other);
    expect(link.take()).toEqual([`NA ${other} > fe80::11 is 02:00:00:bb:00:01`]);
    link.ask(guest, message("SOLICIT", [clientId, na(1)]));
    expect(link.take()).toEqual(["ADVERTISE fd00:48::81"]);
  });
});
