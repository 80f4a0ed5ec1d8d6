import { expect, test } from "vitest";

import { realClock } from "../../kube/clock.ts";
import { type SlicedOptions, SliceFacade } from "./slice-facade.ts";

function world(version = 0) {
  let nowMs = 0;
  const read = () => ({ version, ranges: [], unknown: "" });
  const journal = { grants: () => [] } as unknown as SlicedOptions["journal"];
  const clock = { ...realClock, monotonicMs: () => nowMs };
  const view = new SliceFacade({ journal, read, clock, obstacle: () => "" });
  return { view, tell: (next: number) => void (version = next), pass: (ms: number) => void (nowMs += ms) };
}

test("a daemon that was told nothing has seen nothing", () => expect(world().view.seen()).toBe(0));

test("a change is seen when the last request that began before it is over", () => {
  const { view, tell } = world();
  tell(4);
  const first = view.look();
  const second = view.look();
  tell(5);
  using third = view.look();
  expect(third.ranges).toEqual([]);
  expect(view.seen()).toBe(4);
  first[Symbol.dispose]();
  expect(view.seen()).toBe(4);
  second[Symbol.dispose]();
  expect(view.seen()).toBe(5);
});

test("a write whose answer was lost keeps the version back until it can arrive no more", () => {
  const { view, tell, pass } = world();
  tell(4);
  {
    using look = view.look();
    look.lost();
  }
  tell(5);
  pass(89_999);
  expect(view.seen()).toBe(4);
  pass(1);
  expect(view.seen()).toBe(5);
});

test("what a process before this one may have written by what it had seen keeps the version back for as long", () => {
  const { view, tell, pass } = world(4);
  expect(view.seen()).toBe(4);
  tell(5);
  expect(view.seen()).toBe(4);
  pass(90_000);
  expect(view.seen()).toBe(5);
});
