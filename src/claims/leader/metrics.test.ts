import fc from "fast-check";
import { expect, it } from "vitest";

import { Tally } from "./metrics.ts";

it("counts what a count of everything would say", () => {
  const state = fc.constantFrom("PEND", "BOUND", "RSVD");
  const step = fc.record({ family: fc.constantFrom("a", "b", "c"), states: fc.array(state, { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const tally = new Tally();
      const last = new Map<string, readonly string[]>();
      for (const { family, states } of steps) {
        tally.set(family, states);
        last.set(family, states);
      }
      const all = [...last.values()].flat();
      for (const each of ["PEND", "BOUND", "RSVD"]) {
        expect(tally.counts.get(each) ?? 0).toBe(all.filter((name) => name === each).length);
      }
    }),
  );
});
