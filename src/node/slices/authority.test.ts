import * as fc from "fast-check";
import { expect, it } from "vitest";

import { silent } from "../../log/log.ts";
import { Authority, leftMs, type Memory, type Moment } from "./authority.ts";

const hour = 3_600_000;
const renewal: Moment = { bootId: "one", uptimeMs: 10 * hour, wallMs: 1000 * hour };
const after = (upMs: number, wallMs: number, bootId = "one"): Moment => ({
  bootId,
  uptimeMs: renewal.uptimeMs + upMs,
  wallMs: renewal.wallMs + wallMs,
});

it.each([
  ["just renewed", after(0, 0), 12],
  ["an hour later", after(hour, hour), 11],
  ["the wall clock is ahead of the kernel's: it counts", after(hour, 3 * hour), 9],
  ["the VM was paused for 30 h: only the wall clock has seen it", after(60_000, 30 * hour), -18],
  ["the wall clock jumps back by a day: it proves nothing", after(hour, -24 * hour), 0],
  ["NTP sets the wall clock back by a minute: the kernel's counts", after(hour, -60_000), 11],
  ["the uptime of an LXC container began anew after three days", after(-9 * hour, 72 * hour), 0],
  ["and after a minute", after(-1, 60_000), 0],
  ["asleep for a day: the kernel counted it", after(24 * hour, 24 * hour), -12],
  ["rebooted, an hour later", { bootId: "two", uptimeMs: 0, wallMs: 1001 * hour }, 11],
  ["rebooted, a day later", { bootId: "two", uptimeMs: 0, wallMs: 1024 * hour }, -12],
  ["rebooted, the clock a minute behind", { bootId: "two", uptimeMs: 0, wallMs: 1000 * hour - 60_000 }, 12],
  ["rebooted into 1970: it proves nothing", { bootId: "two", uptimeMs: 0, wallMs: 0 }, 0],
] as const)("%s", (_, now, hours) => {
  expect(leftMs(12 * hour, renewal, now) / hour).toBe(hours);
});

it("no clock gives more than the other would", () => {
  const ms = fc.integer({ min: -40 * hour, max: 40 * hour });
  fc.assert(
    fc.property(ms, ms, fc.boolean(), (upMs, wallMs, isOneBoot) => {
      const left = leftMs(12 * hour, renewal, after(upMs, wallMs, isOneBoot ? "one" : "two"));
      const goneMs = Math.max(0, wallMs, isOneBoot ? upMs : 0);
      expect(Math.max(left, 0)).toBeLessThanOrEqual(Math.max(12 * hour - goneMs, 0));
      if ((isOneBoot && upMs < 0) || wallMs < -300_000) expect(left).toBeLessThanOrEqual(0);
    }),
  );
});

it("a node that never renewed has none", () => {
  expect(leftMs(12 * hour, undefined, renewal)).toBe(0);
});

function memoryOf(text?: string): Memory & { text: string | undefined } {
  return {
    text,
    read() {
      return Promise.resolve(this.text);
    },
    write(next) {
      this.text = next;
      return Promise.resolve();
    },
  };
}

function journalOf(renewedMs?: number) {
  return {
    renewedMs,
    renewed(wallMs: number) {
      this.renewedMs = wallMs;
      return Promise.resolve();
    },
  };
}

it("a restart believes what was noted, and what was noted is never newer than the renewal", async () => {
  let now = renewal;
  const memory = memoryOf();
  const journal = journalOf();
  const options = { authorityMs: 12 * hour, moment: () => now, memory, journal, log: silent };
  const first = new Authority(options);
  await first.load();
  expect(first.why()).toContain("not renewed its Lease yet");
  await first.renewed(now);
  now = after(60_000, 60_000);
  await first.renewed(now);
  expect(first.leftMs).toBe(12 * hour);
  const second = new Authority(options);
  await second.load();
  expect(second.leftMs).toBe(12 * hour - 60_000);
  expect(journal.renewedMs).toBe(renewal.wallMs);
});

it("without its note it goes by the journal's, and the wall clock", async () => {
  const now = after(hour, 13 * hour);
  for (const text of [undefined, "no note", '{"bootId":1}']) {
    const authority = new Authority({
      authorityMs: 12 * hour,
      moment: () => now,
      memory: memoryOf(text),
      journal: journalOf(renewal.wallMs),
      log: silent,
    });
    await authority.load();
    expect(authority.leftMs).toBe(-hour);
    expect(authority.why()).toContain("12 h");
  }
});

it("a disk that refuses the note does not end the authority of this process", async () => {
  const memory: Memory = { read: () => Promise.resolve(undefined), write: () => Promise.reject(new Error("full")) };
  const authority = new Authority({
    authorityMs: hour,
    moment: () => renewal,
    memory,
    journal: journalOf(),
    log: silent,
  });
  await authority.load();
  await authority.renewed(renewal);
  expect(authority.why()).toBe("");
});
