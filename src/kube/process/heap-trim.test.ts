// When the heap is trimmed: after it has grown, by a process that has little to do.
import { expect, test } from "vitest";

import { ManualClock } from "../testing/manual-clock.ts";
import { trimHeap } from "./heap-trim.ts";

const mebibyte = 2 ** 20;

function started() {
  const clock = new ManualClock();
  const state = { heap: 100 * mebibyte, busy: 0, collected: 0 };
  const stop = new AbortController();
  const collect = () => {
    state.collected += 1;
    state.heap = 60 * mebibyte;
  };
  const run = trimHeap({ clock, collect, heapBytes: () => state.heap, busy: () => state.busy }, stop.signal);
  return { clock, state, end: () => (stop.abort(), run) };
}

test("once for what the start left, and again only after it has grown", async () => {
  const { clock, state, end } = started();
  await clock.advance(3000);
  expect(state.collected).toBe(1);
  await clock.advance(60_000);
  state.heap = 71 * mebibyte;
  await clock.advance(60_000);
  expect(state.collected).toBe(1);
  state.heap = 73 * mebibyte;
  await clock.advance(3000);
  expect(state.collected).toBe(2);
  await end();
});

test("never while there is much to do, and at the first quiet moment after it", async () => {
  const { clock, state, end } = started();
  state.busy = 0.9;
  await clock.advance(600_000);
  expect(state.collected).toBe(0);
  state.busy = 0.1;
  await clock.advance(3000);
  expect(state.collected).toBe(1);
  await end();
});

test("where V8 does not expose its collector it does nothing until it is ended", async () => {
  expect(globalThis.gc).toBeUndefined();
  const clock = new ManualClock();
  const stop = new AbortController();
  const run = trimHeap({ clock }, stop.signal);
  expect(clock.pending).toBe(0);
  stop.abort();
  await run;
});
