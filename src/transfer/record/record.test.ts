import { describe, expect, it } from "vitest";

import { plainGoal } from "../plan/testing/goal.ts";
import { decodeRecord, encodeRecord, goalOf, type MigrationRecord, plainOf } from "./record.ts";

const goal = {
  ...plainGoal,
  to: "named" as const,
  names: new Map([["a/b", "c"]]),
  only: new Set(["a/b"]),
  pools: new Map([["k/p", "a/b"]]),
};

const record: MigrationRecord = {
  format: "holdfast migration 1",
  id: "x",
  cluster: "uid",
  systemNamespace: "kube-system",
  startedAt: "2026-01-01T00:00:00Z",
  state: "applying",
  goal: plainOf(goal),
  plan: {
    pools: [],
    records: [],
    edits: [{ key: "a/b", changes: [], before: "{}", after: '{"é":1}' }],
    unmatched: [],
    conflicts: [],
  },
  standing: ["Hold a/b c"],
};

describe("the record", () => {
  it("is read back as it was written, its goal too", () => {
    const again = decodeRecord(encodeRecord(record), "here");
    expect(again).toEqual(record);
    expect(goalOf(again.goal)).toEqual(goal);
  });

  it("is refused torn at any place, or with any character changed", () => {
    const text = encodeRecord(record);
    // The line's end is nobody's word.
    for (let length = 0; length < text.length - 1; length++) {
      expect(() => decodeRecord(text.slice(0, length), "here"), `${length}`).toThrow(/here is no whole record/);
    }
    for (let at = 0; at < text.length - 1; at++) {
      const changed = `${text.slice(0, at)}${text[at] === "0" ? "1" : "0"}${text.slice(at + 1)}`;
      expect(() => decodeRecord(changed, "here"), `${at}`).toThrow(/here is no whole record/);
    }
  });
});
