// How long a node writes into shared ranges after a renewal of its Lease: by both clocks, and never longer than the
// leader waits for it before it cuts one.
import { expect, it } from "vitest";

import { freshMs } from "../../cluster/fencing.ts";
import { waitMaxMs } from "../../ledger/reservation/retry-after.ts";
import { waitedFor } from "./agent.ts";
import { leftMs, type Moment } from "./authority.ts";
import { requestTimeoutMs } from "./slice-facade.ts";

it("the last write that a renewal allows is over before the leader stops to wait for the node", () => {
  const { lastsMs, slackMs } = waitedFor;
  expect(lastsMs + slackMs + waitMaxMs + requestTimeoutMs).toBeLessThan(freshMs);
});

const minuteMs = 60_000;
const renewal: Moment = { bootId: "one", uptimeMs: 60 * minuteMs, wallMs: 9000 * minuteMs };
const after = (upMs: number, wallMs: number, bootId = "one"): Moment => ({
  bootId,
  uptimeMs: renewal.uptimeMs + upMs,
  wallMs: renewal.wallMs + wallMs,
});

it.each([
  ["a minute later", after(minuteMs, minuteMs), true],
  ["two minutes later", after(2 * minuteMs, 2 * minuteMs), false],
  ["the VM was paused for half an hour: only the wall clock has seen it", after(1000, 30 * minuteMs), false],
  ["asleep, and the wall clock was not set yet: the kernel counted it", after(30 * minuteMs, 1000), false],
  ["NTP sets the wall clock back by a second", after(minuteMs, -1000), true],
  ["the wall clock went back by 11 s: it proves nothing", after(minuteMs, -11_000), false],
  ["the uptime went back: it proves nothing", after(-1000, minuteMs), false],
  ["never renewed", undefined, false],
])("%s", (_, now, isWaitedFor) => {
  expect(leftMs(waitedFor.lastsMs, now && renewal, now ?? renewal, waitedFor.slackMs) > 0).toBe(isWaitedFor);
});
