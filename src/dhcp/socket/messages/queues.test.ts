// What goes from thread to thread: effects and traces are bounded, bindings and pools arrive as they were.
import { describe, expect, test } from "vitest";

import { parseAddress, V4Address } from "../../../net/address.ts";
import { parseMac } from "../../../net/mac.ts";
import { parsePrefix } from "../../../net/prefix.ts";
import { compileBinding } from "../../server/binding.ts";
import type { Effect } from "../../server/outcome.ts";
import { compilePool } from "../../server/pool.ts";
import { tracedFrame, TraceRing } from "../trace-ring.ts";
import { EffectQueue, unpackEffects } from "./effect-queue.ts";
import { packBindings, unpackBindings } from "./pack-bindings.ts";
import { packPool, unpackPool } from "./pack-pool.ts";

const mac = parseMac("02:00:00:00:00:11");
const ip = (text: string) => parseAddress(text) as V4Address;
const about = { network: "default/net", address: ip("10.42.0.9"), mac };

describe("effects", () => {
  test("arrive as they were, through a message between threads", () => {
    const effects: Effect[] = [
      { kind: "leased", untilMs: 1.8e12, ...about },
      { kind: "leased", untilMs: Infinity, ...about, address: ip("10.42.0.10") },
      { kind: "released", atMs: 1.7e12, ...about, address: ip("10.42.0.11") },
      { kind: "quarantined", untilMs: 5, ...about },
      { kind: "conflict", note: "in use", ...about },
      { kind: "foreign-server", network: "default/net", server: ip("10.42.0.3"), mac },
    ];
    const queue = new EffectQueue();
    for (const effect of effects) queue.push(effect);
    const arrived = unpackEffects(structuredClone(queue.take()));
    expect(arrived).toEqual(effects);
    expect(arrived.every((effect) => ("address" in effect ? effect.address : effect.server) instanceof V4Address)).toBe(
      true,
    );
    expect(queue.isEmpty).toBe(true);
  });

  test("of an address's leases the newest counts, and the rest has a limit", () => {
    const queue = new EffectQueue();
    for (let untilMs = 0; untilMs < 10_000; untilMs++) queue.push({ kind: "leased", untilMs, ...about });
    for (let index = 0; index < 5000; index++)
      queue.push({ kind: "conflict", note: String(index), ...about, address: new V4Address(index) });
    const [lease, ...others] = unpackEffects(queue.take());
    expect(lease).toMatchObject({ kind: "leased", untilMs: 9999 });
    expect(others).toHaveLength(4096);
    expect(others.at(-1)).toMatchObject({ note: "4999" });
  });

  test("a foreign server that says the same again is told of once in a batch", () => {
    const queue = new EffectQueue();
    const effect = { kind: "foreign-server", network: "n", server: ip("10.42.0.3"), mac } as const;
    for (let index = 0; index < 3; index++) queue.push(effect);
    queue.push({ ...effect, server: ip("10.42.0.4") });
    expect(unpackEffects(queue.take())).toHaveLength(2);
  });
});

test("bindings arrive as they were", () => {
  const bindings = [
    { address: ip("10.42.0.9"), pool: "a", mac },
    { address: ip("10.42.0.10"), pool: "b", mac: parseMac("fe:ff:ff:ff:ff:ff"), hostName: "vm-1" },
    {
      address: ip("255.255.255.254"),
      pool: "a",
      clientIdentifier: Uint8Array.of(255, 0, 1, 2),
      hostName: "vm-2",
      custom: [{ code: 252, value: { kind: "text", value: "x".repeat(300) }, always: true }],
    },
  ] as const;
  const compiled = bindings.map((binding) => compileBinding(binding));
  const arrived = [...unpackBindings(structuredClone(packBindings(compiled)))];
  const plain = (list: typeof compiled) =>
    list.map(({ parameters, ...rest }) => ({ ...rest, all: parameters?.all, always: parameters?.always }));
  expect(plain(arrived)).toEqual(plain(compiled));
  expect(arrived[2]?.parameters?.get(252)?.data).toHaveLength(300);
  expect([...unpackBindings(packBindings([]))]).toEqual([]);
});

test("a pool arrives as it was", () => {
  const pool = compilePool({
    name: "default/net",
    subnet: parsePrefix("10.42.0.0/16"),
    serverIdentifier: ip("10.42.0.1"),
    leaseSeconds: 60,
    routers: [ip("10.42.0.254")],
    dnsServers: [ip("10.42.0.253")],
    domainName: "vm.example",
    ntpServers: [ip("10.42.0.252")],
    mtu: 1400,
    custom: [{ code: 252, value: { kind: "text", value: "x" }, always: true }],
  });
  const { parameters, ...rest } = unpackPool(structuredClone(packPool(pool)));
  const { parameters: before, ...restBefore } = pool;
  expect(rest).toEqual(restBefore);
  expect([parameters.all, parameters.always]).toEqual([before.all, before.always]);
  for (let code = 0; code < 256; code++) expect(parameters.get(code), String(code)).toEqual(before.get(code));
});

describe("a trace", () => {
  const bytes = new Uint8Array(300);
  bytes.set([2, 0, 0, 0, 0, 0x11], 42 + 28);

  test("keeps copies, of the client that is asked for", () => {
    const ring = new TraceRing({ network: "n", mac });
    ring.push(tracedFrame(1, "n", "in", bytes, "unknown-client"), 42);
    ring.push(tracedFrame(2, "n", "in", bytes), undefined);
    ring.push(tracedFrame(3, "other", "in", bytes), 42);
    const { frames } = ring.take();
    expect(frames.map(({ atMs, silence }) => [atMs, silence])).toEqual([[1, "unknown-client"]]);
    expect(frames[0]?.bytes.buffer).not.toBe(bytes.buffer);
    expect(ring.isEmpty).toBe(true);
  });

  test("has a limit of 1 MiB, and counts what is lost", () => {
    const ring = new TraceRing({});
    const large = new Uint8Array(1500);
    for (let index = 0; index < 1000; index++) ring.push(tracedFrame(index, "n", "in", large), undefined);
    const { frames, dropped } = ring.take();
    expect(frames).toHaveLength(Math.floor((1024 * 1024) / 1500));
    expect(frames.length + dropped).toBe(1000);
    expect(ring.take()).toEqual({ frames: [], dropped: 0 });
  });
});
