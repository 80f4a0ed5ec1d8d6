import { expect, test } from "vitest";

import { parseMac } from "../../net/mac.ts";
import { isToBeWritten, judgeBinding } from "./binding-check.ts";

const own = parseMac("02:00:00:00:00:01");
const other = parseMac("02:00:00:00:00:02");
const quarantine = (by: "probe" | "decline") => ({ untilMs: 5000, by });

test.each([
  ["nobody answers", undefined, undefined, "fine"],
  ["the owner answers", own, undefined, "fine"],
  ["another answers", other, undefined, "in-use"],
  ["another still answers", other, quarantine("probe"), "in-use"],
  ["nobody answers any more", undefined, quarantine("probe"), "over"],
  ["the owner answers now", own, quarantine("probe"), "over"],
  ["nobody answers, and the client had declined", undefined, quarantine("decline"), "fine"],
] as const)("%s: %4$s", (_, answer, before, verdict) => {
  expect(judgeBinding({ mac: own, quarantine: before }, answer, 1000).kind).toBe(verdict);
});

test("a quarantine is written again when half of it is over", () => {
  expect(isToBeWritten(undefined, 0)).toBe(true);
  expect(isToBeWritten({ untilMs: 600_000, by: "probe" }, 1000)).toBe(false);
  expect(isToBeWritten({ untilMs: 600_000, by: "probe" }, 400_000)).toBe(true);
});
