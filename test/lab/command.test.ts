// Commands run to their end, and scripts made of them.
import { expect, test } from "vitest";

import { attempt, CommandError, run, script } from "./command.ts";

test("run gives the output, and passes the input", async () => {
  expect(await run(["cat"], { input: "hello" })).toBe("hello");
});

test("run fails with the command's own words", async () => {
  const failing = run(["sh", "-c", "echo because >&2; exit 3"]);
  await expect(failing).rejects.toThrow(CommandError);
  await expect(failing).rejects.toMatchObject({ message: expect.stringContaining("because"), result: { status: 3 } });
});

test("a program that does not exist is named", async () => {
  await expect(attempt(["no-such-program"])).rejects.toThrow("cannot run no-such-program");
});

test("an abort kills it", async () => {
  await expect(run(["sleep", "1000"], { signal: AbortSignal.timeout(50) })).rejects.toThrow();
});

test("a script takes every word as it is, and stops at the first failure", async () => {
  const words = ["it's", "$HOME", "a b", "`x`", '"', "\\", "*", "line\nbreak", ""];
  expect(await run(script([["printf", "%s|", ...words]]))).toBe(`${words.join("|")}|`);
  const { status, stdout } = await attempt(script([["echo", "one"], ["false"], ["echo", "two"]]));
  expect([status, stdout]).toEqual([1, "one\n"]);
});
