// The queue of cooling addresses against a plain list that is sorted at every question.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { V4Address } from "../net/address.ts";
import { type Cooling, CoolingQueue } from "./cooling.ts";
import type { OwnerKey } from "./owner.ts";

function cooling(key: number, untilMs: number, owner = key): Cooling {
  return { address: new V4Address(key), untilMs, lastOwner: `claim:u${owner}:` as OwnerKey };
}

describe("CoolingQueue", () => {
  it("agrees with a sorted list", () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant("add" as const), key: fc.nat(60), restMs: fc.nat(50) }),
        fc.record({ kind: fc.constant("delete" as const), key: fc.nat(60) }),
        fc.record({ kind: fc.constant("wait" as const), ms: fc.nat(20) }),
      ),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(steps, (list) => {
        const queue = new CoolingQueue();
        let oracle: { key: number; untilMs: number }[] = [];
        let nowMs = 0;
        for (const step of list) {
          if (step.kind === "wait") {
            nowMs += step.ms;
            const expired = [...queue.expire(nowMs)]
              .map(({ address }) => (address as V4Address).value)
              .sort((a, b) => a - b);
            expect(expired).toEqual(
              oracle
                .filter((each) => each.untilMs <= nowMs)
                .map(({ key }) => key)
                .sort((a, b) => a - b),
            );
            oracle = oracle.filter((each) => each.untilMs > nowMs);
            expect(queue.due(nowMs)).toBe(false);
          } else {
            oracle = oracle.filter(({ key }) => key !== step.key);
            if (step.kind === "delete") queue.delete(step.key);
            else {
              oracle.push({ key: step.key, untilMs: nowMs + step.restMs });
              queue.add(step.key, cooling(step.key, nowMs + step.restMs));
            }
          }
          expect(queue.count).toBe(oracle.length);
          const order = [...queue.inOrder()].map(({ untilMs }) => untilMs);
          expect(order).toEqual(oracle.map(({ untilMs }) => untilMs).sort((a, b) => a - b));
          for (const { key, untilMs } of oracle) expect(queue.get(key)?.untilMs).toBe(untilMs);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("finds what an owner released last, until it has rested or somebody took it", () => {
    const queue = new CoolingQueue();
    queue.add(1, cooling(1, 10, 7));
    queue.add(2, cooling(2, 20, 7));
    const owner = "claim:u7:" as OwnerKey;
    expect(queue.of(owner)?.address).toEqual(new V4Address(2));
    queue.delete(1);
    expect(queue.of(owner)?.address).toEqual(new V4Address(2));
    queue.delete(2);
    expect(queue.of(owner)).toBeUndefined();
  });
});
