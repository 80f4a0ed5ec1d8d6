import { expect, it } from "vitest";

import { type Given, judgeGiven, type Reserved } from "./verdict.ts";

const given = (pod: string, address: string, network = ""): Given => ({ network, pod, interface: "net1", address });
const reserved = (name: string, podref: string): Reserved => ({ name, podref, interface: "net1" });
const clean = { duplicates: [], unrecorded: [], leaked: [] };

it("answers and objects that agree are clean", () => {
  expect(judgeGiven([given("b/p1", "10.0.0.1")], [reserved("10.0.0.1", "b/p1")])).toEqual(clean);
});

it("the same address in two networks is no duplicate", () => {
  const answers = [given("b/p1", "10.0.0.1", "red"), given("b/p2", "10.0.0.1", "blue")];
  expect(judgeGiven(answers, [reserved("red-10.0.0.1", "b/p1"), reserved("blue-10.0.0.1", "b/p2")])).toEqual(clean);
});

it("one address for two pods is a duplicate, whatever the object says", () => {
  const answers = [given("b/p1", "10.0.0.1"), given("b/p2", "10.0.0.1")];
  const verdict = judgeGiven(answers, [reserved("10.0.0.1", "b/p2")]);
  expect(verdict.duplicates).toEqual(["10.0.0.1 was given to b/p1 net1 and to b/p2 net1"]);
  expect(verdict.unrecorded).toHaveLength(1);
});

it("an answer without an object, and one whose object is another's, are unrecorded", () => {
  const answers = [given("b/p1", "10.0.0.1"), given("b/p2", "10.0.0.2")];
  expect(judgeGiven(answers, [reserved("10.0.0.2", "b/p9")]).unrecorded).toEqual([
    "10.0.0.1 was given to b/p1 net1, and its object says nothing",
    "10.0.0.2 was given to b/p2 net1, and its object says b/p9",
  ]);
});

it("an object that nobody was answered is leaked", () => {
  expect(judgeGiven([], [reserved("10.0.0.1", "b/p1")]).leaked).toEqual([
    "10.0.0.1 is held for b/p1, which was not answered it",
  ]);
});
