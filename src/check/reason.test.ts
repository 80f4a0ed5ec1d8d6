import { describe, expect, it } from "vitest";

import { reasonWords } from "./reason.ts";

describe("the reason of a hold in words", () => {
  it.each([
    [
      { network: "blue", why: "lowest", passed: ["10.77.0.1  reserved: gateway", "and so on from 10.77.0.9"] },
      "the lowest free address; on network blue; passed over: 10.77.0.1 (reserved: gateway), and so on from 10.77.0.9",
    ],
    [
      { network: "blue", why: "spread, after a conflict" },
      "the lowest free address of those that its node tries first, after a conflict; on network blue",
    ],
    [
      { network: "", why: "random", early: true },
      "a free address, by chance; given before its rest was over, since nothing else was free",
    ],
    [{ network: "blue", why: "a way of a later release" }, "a way of a later release; on network blue"],
  ])("%j", (why, words) => {
    expect(reasonWords(JSON.stringify(why))).toBe(words);
  });

  it.each(["passed on by VM shop/web", '{"no":"choice"}', "[1]", "", "{"])("leaves %j as it is", (why) => {
    expect(reasonWords(why)).toBe(why);
  });
});
