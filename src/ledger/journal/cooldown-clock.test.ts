import fc from "fast-check";
import { expect, it } from "vitest";

import { RestClock } from "./cooldown-clock.ts";

it("goes on where it was when the wall clock jumps back, and with it when that jumps forward", () => {
  let wall = 1000;
  const clock = new RestClock(() => wall);
  expect(clock.now()).toBe(1000);
  wall = 1500;
  expect(clock.now()).toBe(1500);
  wall = 100;
  expect(clock.now()).toBe(1500);
  wall = 130;
  expect(clock.now()).toBe(1530);
  expect(clock.toWall(1530)).toBe(130);
  wall = 9000;
  expect(clock.now()).toBe(10_400);
});

it("never goes back, and lets no rest last longer than one cooldown from when it is asked", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(100_000), { minLength: 1 }),
      fc.nat(100_000),
      fc.nat(5000),
      (walls, atMs, cooldownMs) => {
        let wall = 0;
        const clock = new RestClock(() => wall);
        let last = -Infinity;
        for (wall of walls) {
          const now = clock.now();
          expect(now).toBeGreaterThanOrEqual(last);
          expect(clock.toWall(now)).toBe(wall);
          expect(clock.endOf(atMs, cooldownMs)).toBeLessThanOrEqual(now + cooldownMs);
          last = now;
        }
      },
    ),
  );
});
