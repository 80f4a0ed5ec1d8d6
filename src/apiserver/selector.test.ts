import { expect, test } from "vitest";

import { matchesLabels, parseFieldSelector, parseLabelSelector } from "./selector.ts";

const labels = { app: "web", tier: "front", size: "10" };

test.each([
  ["", true],
  ["app", true],
  ["!app", false],
  ["!other", true],
  ["app=web", true],
  ["app==web,tier=front", true],
  ["app=web,tier=back", false],
  ["app!=web", false],
  ["other!=x", true],
  ["app in (web,api)", true],
  ["app in (api)", false],
  ["app notin (api, db)", true],
  ["other notin (api)", true],
  ["size>9", true],
  ["size<9", false],
  ["tier = front , app in ( web , api )", true],
])("label selector %j", (text, expected) => {
  expect(matchesLabels(parseLabelSelector(text), labels)).toBe(expected);
});

test.each(["a b", "app in web", "=x", "size>big", "app=(x"])("%j is no label selector", (text) => {
  expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ code: 400 }));
});

test("field selectors", () => {
  expect(parseFieldSelector("metadata.name=a,status.phase!=Running,x==1")).toEqual([
    { field: "metadata.name", equals: true, value: "a" },
    { field: "status.phase", equals: false, value: "Running" },
    { field: "x", equals: true, value: "1" },
  ]);
  expect(parseFieldSelector("a=x\\,y")).toEqual([{ field: "a", equals: true, value: "x,y" }]);
  expect(() => parseFieldSelector("nothing")).toThrow(expect.objectContaining({ code: 400 }));
});
