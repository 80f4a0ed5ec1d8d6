// Probes for duplicates in real namespaces: whoever answers is the kernel of another host on the same Ethernet.
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { parseAddress } from "../../src/net/address.ts";
import { probeDuplicate, Prober } from "../../src/node/kernel/probe.ts";
import { until } from "../lab/wait.ts";
import { Wire } from "./wire.ts";

const free = { duplicate: false };
/** The kernel answers within a millisecond; on a busy machine its turn may come later. */
const timeoutMs = 600;

function probe(wire: Wire, host: string, address: string, rest: { signal?: AbortSignal; timeoutMs?: number } = {}) {
  return probeDuplicate({
    netns: wire.netns(host),
    interface: "eth0",
    address: parseAddress(address),
    timeoutMs,
    ...rest,
  });
}

/** The namespace of every thread of this process. */
function namespaces(): string[] {
  const tasks = "/proc/self/task";
  return [...new Set(readdirSync(tasks).map((task) => readlinkSync(join(tasks, task, "ns/net"))))];
}

function openSockets(): number {
  const folder = "/proc/self/fd";
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(join(folder, fd)).startsWith("socket:");
    } catch {
      return false; // closed meanwhile, the folder's own among them
    }
  }).length;
}

/** Held by `owner`. No two probes at once may ask for the same: they would find each other. */
const many = [4, 6].flatMap((family) =>
  Array.from({ length: 6 }, (_, index) => ({
    held: family === 4 ? `10.7.0.${200 + index}/24` : `fd07::20${index}/64`,
  })),
);

describe("on a bridge", () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await Wire.of([
      { name: "pod" },
      { name: "late", down: true },
      { name: "mute" },
      { name: "owner", addresses: ["10.7.0.5/24", "fd07::5/64", "fd07::1:2:3:4/64", ...many.map(({ held }) => held)] },
    ]);
  });
  afterAll(() => wire?.remove());

  test.each(["10.7.0.5", "fd07::5", "fd07::1:2:3:4"])(
    "%s belongs to a neighbour, which is named by its MAC",
    async (address) => {
      const { mac } = await wire.link("owner");
      expect(await probe(wire, "pod", address)).toEqual({ duplicate: true, mac });
    },
  );

  test.each(["10.7.0.6", "10.7.1.5", "fd07::6", "fd08::5"])("%s is nobody's", async (address) => {
    expect(await probe(wire, "pod", address)).toEqual(free);
  });

  test.each(["10.7.0.5", "fd07::5"])("%s: a link that is down is brought up first", async (address) => {
    await wire.ip("late", "link", "set", "eth0", "down");
    const { mac } = await wire.link("owner");
    expect(await probe(wire, "late", address)).toEqual({ duplicate: true, mac });
    expect((await wire.link("late")).flags).toContain("UP");
  });

  test("an interface without IPv6 hears the answer too", async () => {
    await wire.ip("mute", "link", "set", "eth0", "addrgenmode", "none");
    expect(await probe(wire, "mute", "fd07::5")).toMatchObject({ duplicate: true });
  });

  test("two that probe for the same free address find each other", async () => {
    const macs = [(await wire.link("pod")).mac, (await wire.link("mute")).mac];
    for (const address of ["10.7.0.77", "fd07::77"]) {
      const answers = await Promise.all([probe(wire, "pod", address), probe(wire, "mute", address)]);
      const found = answers.flatMap((answer, index) => (answer.duplicate ? [[index, answer.mac]] : []));
      expect(found.length).toBeGreaterThan(0);
      for (const [index, mac] of found) expect(mac).toBe(macs[1 - Number(index)]);
    }
  });

  test("the pod's own address is no duplicate of itself", async () => {
    await wire.ip("pod", "address", "add", "10.7.0.9/24", "dev", "eth0");
    await wire.ip("pod", "address", "add", "fd07::9/64", "dev", "eth0", "nodad");
    expect(await probe(wire, "pod", "10.7.0.9")).toEqual(free);
    expect(await probe(wire, "pod", "fd07::9")).toEqual(free);
  });

  test("30 at once, and no thread is anywhere else afterwards", async () => {
    const before = namespaces();
    expect(before).toHaveLength(1);
    const sockets = openSockets();
    const { mac } = await wire.link("owner");
    const plan = Array.from({ length: 30 }, (_, index) => ({
      host: ["pod", "late", "mute"][index % 3] ?? "pod",
      address: many[index]?.held.split("/")[0] ?? `10.7.0.${100 + index}`,
      isHeld: index < many.length,
    }));
    const answers = await Promise.all(plan.map(({ host, address }) => probe(wire, host, address)));
    expect(answers).toEqual(plan.map(({ isHeld }) => (isHeld ? { duplicate: true, mac } : free)));
    expect(namespaces()).toEqual(before);
    expect(openSockets()).toBe(sockets);
  });

  test("called off, it leaves nothing behind", async () => {
    const sockets = openSockets();
    const aborter = new AbortController();
    const pending = probe(wire, "pod", "10.7.0.6", { signal: aborter.signal, timeoutMs: 10_000 });
    await until(async () => openSockets() > sockets, { what: "the probe's socket" });
    aborter.abort(new Error("no longer"));
    await expect(pending).rejects.toThrow("no longer");
    await until(async () => openSockets() === sockets, { what: "the end of the probe's socket" });
    await expect(probe(wire, "pod", "10.7.0.6", { signal: aborter.signal })).rejects.toThrow("no longer");
  });

  test.each([
    ["no-interface", "the interface does not exist", { interface: "net1" }],
    ["not-ethernet", "nothing on it speaks ARP", { interface: "lo" }],
    ["no-netns", "the namespace is gone", { netns: "/run/netns/hf-never-was" }],
    ["no-netns", "the path is something else", { netns: "/etc/hostname" }],
    ["bad-argument", "a name that none can have", { interface: "a/../very-long-name" }],
    ["bad-argument", "a path that is not absolute", { netns: "netns/pod" }],
    ["bad-argument", "no time at all", { timeoutMs: 0 }],
  ])("%s: %s", async (code, _, change) => {
    const request = { netns: wire.netns("pod"), interface: "eth0", address: parseAddress("10.7.0.5"), timeoutMs };
    await expect(probeDuplicate({ ...request, ...change })).rejects.toMatchObject({ code });
    expect(await probeDuplicate(request), "the next one is not affected").toMatchObject({ duplicate: true });
  });
});

describe("on macvlan", () => {
  let wire: Wire;
  afterEach(() => wire?.remove());

  test("a sibling and a host behind the parent's cable are both heard, before the plugin has brought the interface up", async () => {
    wire = await Wire.of([
      { name: "pod", macvlanOn: "trunk", down: true },
      { name: "sibling", macvlanOn: "trunk", addresses: ["10.8.0.5/24", "fd08::5/64"] },
      { name: "outside", addresses: ["10.8.0.6/24", "fd08::6/64"] },
    ]);
    const sibling = (await wire.link("sibling")).mac;
    const outside = (await wire.link("outside")).mac;
    expect(await probe(wire, "pod", "10.8.0.5")).toEqual({ duplicate: true, mac: sibling });
    expect(await probe(wire, "pod", "fd08::5")).toEqual({ duplicate: true, mac: sibling });
    expect(await probe(wire, "pod", "10.8.0.6")).toEqual({ duplicate: true, mac: outside });
    expect(await probe(wire, "pod", "fd08::6")).toEqual({ duplicate: true, mac: outside });
    expect(await probe(wire, "pod", "10.8.0.7")).toEqual(free);
    expect(await probe(wire, "pod", "fd08::7")).toEqual(free);
  });
});

describe("the prober", () => {
  let wire: Wire;
  afterEach(() => wire?.remove());

  test("keeps no namespace alive: a pod that ends takes its cable with it", async () => {
    wire = await Wire.of([{ name: "pod" }]);
    expect(await probe(wire, "pod", "10.9.0.5")).toEqual(free);
    const ports = async () => wire.ip("switch", "-br", "link");
    expect(await ports()).toContain(wire.port("pod"));
    await wire.deleteHost("pod");
    await until(async () => !(await ports()).includes(wire.port("pod")), { what: "the end of the namespace" });
  });

  test("has so many sockets and no more, and none when all are called off", async () => {
    wire = await Wire.of([{ name: "pod" }]);
    const sockets = openSockets();
    const off = new AbortController();
    const prober = new Prober();
    const request = {
      netns: wire.netns("pod"),
      interface: "eth0",
      address: parseAddress("10.9.0.5"),
      timeoutMs: 10_000,
      signal: off.signal,
    };
    const pending = Array.from({ length: 20 }, () => prober.probe(request).catch((error: unknown) => error));
    await until(async () => openSockets() === sockets + 16, { what: "16 sockets, and no more" });
    const reason = new Error("the ADD is over");
    off.abort(reason);
    expect(await Promise.all(pending)).toEqual(Array.from({ length: 20 }, () => reason));
    await until(async () => openSockets() === sockets, { what: "the end of all sockets" });
  });

  test("lets so many wait and no more", async () => {
    const prober = new Prober();
    const request = {
      netns: "/run/netns/hf-none",
      interface: "eth0",
      address: parseAddress("10.9.0.5"),
      timeoutMs: 20,
    };
    const codes = await Promise.all(
      Array.from({ length: 16 + 512 + 5 }, () =>
        prober.probe(request).then(String, (error: { code: string }) => error.code),
      ),
    );
    expect(codes.filter((code) => code === "busy")).toHaveLength(5);
    expect(codes.filter((code) => code === "no-netns")).toHaveLength(16 + 512);
  });
});
