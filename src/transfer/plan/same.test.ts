import { expect, it } from "vitest";

import { hasSameContent, isStored } from "./same.ts";

const object = (spec: object, annotations?: Record<string, string>) => ({
  metadata: { name: "x", ...(annotations && { annotations }) },
  spec,
});

it.each<[about: string, wanted: object, there: object, same: boolean]>([
  ["the same", { podref: "a/b", ifname: "n" }, { podref: "a/b", ifname: "n" }, true],
  [
    "a field that the server's definition does not have is pruned",
    { podref: "a/b", poduid: "u" },
    { podref: "a/b" },
    true,
  ],
  ["another owner", { podref: "a/b" }, { podref: "a/c" }, false],
  ["an owner that is gone", { podref: "a/b" }, {}, false],
  ["another interface", { podref: "a/b", ifname: "n" }, { podref: "a/b" }, false],
  ["a field that nobody meant", { podref: "a/b" }, { podref: "a/b", poduid: "u" }, false],
  ["an entry that is gone", { range: "r", allocations: { "1": { id: "i" } } }, { range: "r", allocations: {} }, false],
  ["an entry more", { range: "r", allocations: {} }, { range: "r", allocations: { "1": { id: "i" } } }, false],
  [
    "an entry pruned of our fields",
    { range: "r", allocations: { "1": { id: "i", uid: "u" } } },
    { range: "r", allocations: { "1": { id: "i" } } },
    true,
  ],
  [
    "an entry of another sandbox",
    { range: "r", allocations: { "1": { id: "i" } } },
    { range: "r", allocations: { "1": { id: "j" } } },
    false,
  ],
])("%s", (_about, wanted, there, same) => {
  expect(hasSameContent(object(wanted), object(there))).toBe(same);
});

it("marks count where the whole object is meant, and not where its content is", () => {
  const [bare, marked] = [object({ podref: "a/b" }), object({ podref: "a/b" }, { x: "y" })];
  expect(isStored(marked, bare)).toBe(false);
  expect(isStored(marked, marked)).toBe(true);
  expect(hasSameContent(marked, bare)).toBe(true);
});
