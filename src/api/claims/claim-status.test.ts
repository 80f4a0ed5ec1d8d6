import { describe, expect, it } from "vitest";

import { allocationReasons } from "./claim-marks.ts";
import { allocatedWords, claimStatus, type ClaimStatus } from "./claim-status.ts";

const done = { reason: allocationReasons.done, message: "held." };
const at = (seconds: number) => Date.UTC(2026, 0, 1, 0, 0, seconds, 123);
const make = (before: ClaimStatus | undefined, more: Partial<Parameters<typeof claimStatus>[0]> = {}) =>
  claimStatus({ before, ips: ["10.0.0.7/24"], pod: "p1", condition: done, nowMs: at(5), ...more });
const conditionIn = ({ conditions = [] }: ClaimStatus) => conditions.find(({ type }) => type === "IPsAllocated")!;

describe("the status of a claim", () => {
  it("says what is held, by whom it is used, and since when", () => {
    expect(make(undefined)).toEqual({
      ips: ["10.0.0.7/24"],
      ownerPod: { name: "p1" },
      conditions: [
        {
          type: "IPsAllocated",
          status: "True",
          reason: "SuccessfulAllocation",
          message: "held.",
          lastTransitionTime: "2026-01-01T00:00:05Z",
        },
      ],
    });
  });

  it("is the same when it is made again later, so that nobody writes it twice", () => {
    const first = make(undefined);
    expect(make(first, { nowMs: at(50) })).toEqual(first);
  });

  it("keeps what others put there, and drops a pod that is gone", () => {
    const before = { ...make(undefined), extra: 1, conditions: [{ type: "Other", status: "True" as const }] };
    const after = make(before, { pod: undefined });
    expect(after).toMatchObject({ extra: 1, conditions: [{ type: "Other" }, { type: "IPsAllocated" }] });
    expect(after.ownerPod).toBeUndefined();
  });

  it.each([
    ["nothing is held", [], allocationReasons.exhausted, "False"],
    ["one of two ranges has none left", ["10.0.0.7/24"], allocationReasons.exhausted, "False"],
    ["its address is in no range any more", ["10.0.0.7/24"], allocationReasons.outOfRange, "False"],
    ["a third pod came", ["10.0.0.7/24"], allocationReasons.inUse, "True"],
    ["a third pod came before any address", [], allocationReasons.inUse, "False"],
    ["another claim has the MAC", ["10.0.0.7/24"], allocationReasons.macConflict, "True"],
  ])("where %s", (_, ips, reason, status) => {
    const made = conditionIn(make(make(undefined), { ips, condition: { reason, message: "m" }, nowMs: at(9) }));
    expect(made).toMatchObject({ status, reason });
    // The time is that of the change, not of the write.
    expect(made.lastTransitionTime).toBe(status === "True" ? "2026-01-01T00:00:05Z" : "2026-01-01T00:00:09Z");
  });

  it("speaks of one address and of two", () => {
    expect(allocatedWords(["10.0.0.7/24"])).toBe("10.0.0.7/24 is held for this claim.");
    expect(allocatedWords(["10.0.0.7/24", "fd00::7/64"])).toContain("are held");
  });
});
