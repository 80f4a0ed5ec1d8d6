import { expect, test } from "vitest";

import { apiRefusalOf } from "../../test/api/refusal.ts";
import { isLegalName, legalName } from "./name.ts";

test.each([
  ["10.0.0.0-8", true],
  ["caa5---64", true],
  ["a".repeat(253), true],
  ["a".repeat(254), false],
  ["", false],
  ["---126", false],
  ["--1", false],
  ["Red-10.0.0.0-8", false],
  ["a..b", false],
  ["a-.b", false],
  ["a_b", false],
  ["a-", false],
])("%s is legal: %s", (name, legal) => {
  expect(isLegalName(name)).toBe(legal);
});

test("a refusal names the name, what it is made of and the remedy", () => {
  const shape = apiRefusalOf(() => legalName("IPPool", "Red-10.0.0.0-8", 'network "Red"'));
  expect(shape.code).toBe("bad-name");
  expect(shape.message).toMatch(/IPPool name "Red-10.0.0.0-8", made of network "Red".*lower case/);
  const length = apiRefusalOf(() => legalName("IPPool", "a".repeat(300), "a long network"));
  expect(length.message).toMatch(/has 300 characters, and 253 are allowed: shorten/);
});
