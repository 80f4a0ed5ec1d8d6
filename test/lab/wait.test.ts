// Waiting, alone and together.
import { expect, test } from "vitest";

import { together, until } from "./wait.ts";

test("until gives the first answer that is one", async () => {
  const answers = [undefined, false, 7, 8];
  expect(await until(async () => answers.shift(), { what: "a number", everyMs: 1 })).toBe(7);
});

test("until gives up, says what it waited for, and keeps the last reason", async () => {
  const failing = until(() => Promise.reject(new Error("refused")), { what: "the door", everyMs: 1, timeoutMs: 20 });
  await expect(failing).rejects.toMatchObject({
    message: expect.stringContaining("the door"),
    cause: expect.objectContaining({ message: "refused" }),
  });
});

test("until ends with the signal", async () => {
  const controller = new AbortController();
  const waiting = until(async () => false, { what: "nothing", signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow();
});

test("together gives all results in order", async () => {
  const tasks = [1, 2, 3].map((value) => async () => {
    await new Promise((resolve) => setTimeout(resolve, 5 - value));
    return value;
  });
  expect(await together(tasks)).toEqual([1, 2, 3]);
});

test("together stops the others at the first failure, and throws it when all have ended", async () => {
  const ended: string[] = [];
  const slow = (signal: AbortSignal) =>
    new Promise<void>((_, reject) => {
      signal.addEventListener("abort", () =>
        setTimeout(() => {
          ended.push("slow");
          reject(new Error("stopped"));
        }, 10),
      );
    });
  await expect(together([slow, () => Promise.reject(new Error("first"))])).rejects.toThrow("first");
  expect(ended).toEqual(["slow"]);
});
