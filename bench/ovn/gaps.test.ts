// Which silence belongs to which move.
import { expect, it } from "vitest";

import { beyondOf } from "./gaps.ts";

const move = (stopped: number, stillMs: number) => ({ stillMs, atMs: { stopped } });

it("a silence is that of the stop before its end, less what the guest stood still", () => {
  const gaps = [
    { fromMs: 500, ms: 40 }, // before anything moved
    { fromMs: 995, ms: 150 },
    { fromMs: 1300, ms: 30 },
    { fromMs: 4990, ms: 260 },
  ];
  expect(beyondOf({ gaps }, [move(1000, 50), move(5000, 60)])).toEqual([100, 200]);
});

it("nothing is missing where nobody was silent for longer than the guest", () => {
  expect(beyondOf({ gaps: [] }, [move(1000, 50)])).toEqual([0]);
  expect(beyondOf({ gaps: [{ fromMs: 990, ms: 40 }] }, [move(1000, 50)])).toEqual([0]);
});
