import { expect, it } from "vitest";

import { makeLog } from "./log.ts";

const lines: string[] = [];
const now = () => Date.UTC(2026, 10, 15, 8, 0, 0);
const write = (line: string) => void lines.push(line);

it("writes one JSON object per line, with the fields of the log and of the line", () => {
  lines.length = 0;
  const log = makeLog({ write, now }).with({ pod: "default/web-0" });
  log.info("address given", { address: "10.0.0.7", count: 3n });
  log.debug("not at this level");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      time: "2026-11-15T08:00:00.000Z",
      level: "info",
      message: "address given",
      pod: "default/web-0",
      address: "10.0.0.7",
      count: "3",
    },
  ]);
});

it("writes text for a terminal, and errors as their code and sentence", () => {
  lines.length = 0;
  const error = Object.assign(new Error("no route"), { code: "unreachable" });
  makeLog({ write, now, format: "text", level: "debug" }).error("cannot list pools", { error });
  expect(lines).toEqual([
    '2026-11-15T08:00:00.000Z error cannot list pools error={"code":"unreachable","message":"no route"}',
  ]);
});

it("does not throw at what cannot be written", () => {
  lines.length = 0;
  const round: Record<string, unknown> = {};
  round["self"] = round;
  makeLog({ write, now }).warn("odd", { round });
  expect(lines).toEqual(['"(cannot be written)"']);
});
