// Receipts out of what was seen, look by look.
import { expect, it } from "vitest";

import type { Launcher } from "../../src/migration/objects/launcher.ts";
import { situate } from "../../src/migration/plan/situation.ts";
import { eventOf, receiptText } from "../../src/migration/receipts/receipt-text.ts";
import { type Receipt, record } from "../../src/migration/receipts/receipt.ts";
import { launcher } from "./pods.ts";

const a = (more: Partial<Launcher> = {}) => launcher("a", "n1", { ready: "node-label", ...more });
const b = (more: Partial<Launcher> = {}) => launcher("b", "n2", more);
const c = (more: Partial<Launcher> = {}) => launcher("c", "n3", more);
const stamp = { ready: "ready-timestamp", readyMs: 20_000 } as const;
const over = { phase: "succeeded" } as const;
const failed = { phase: "failed" } as const;

/** One look each 10 s, the first at 10 s; every receipt that ended. */
function ended(looks: readonly Launcher[][], isRecorded = false): Receipt[] {
  let open: Receipt | undefined;
  const recorded = new Set<string>();
  return looks.flatMap((pods, at) => {
    const atMs = 10_000 * (at + 1);
    const situation = situate(pods, { nowMs: atMs, home: "n1" });
    const done = record(
      open,
      { namespace: "t", vm: "vm1", situation, atMs, tookMs: 4 },
      ({ uid }) => isRecorded || recorded.has(uid),
    );
    open = done.open;
    for (const { target } of done.ended) recorded.add(target.uid);
    return done.ended;
  });
}

const told = ({ end, source, target, steps, isWhole }: Receipt) =>
  `${end}${isWhole ? "" : " (in part)"} ${source?.node ?? "?"} > ${target.node}: ` +
  steps.map((each) => `${each.step} ${each.atMs / 1000}${"trigger" in each ? ` by ${each.trigger}` : ""}`).join(", ");

it.each<[string, Launcher[][], string[]]>([
  [
    "a migration",
    [[a()], [a(), b()], [a(), b(stamp)], [a(over), b(stamp)], [b(stamp)]],
    ["succeeded n1 > n2: target-created 1, target-ready 20, switched 30 by ready-timestamp, over 40"],
  ],
  [
    "an early sign that was right",
    [[a()], [a(), b()], [a(), b({ sign: { kind: "rarp", seenMs: 29_990 } })], [a(over), b(stamp)]],
    ["succeeded n1 > n2: target-created 1, guest-seen 29.99, switched 30 by early-sign, target-ready 20, over 40"],
  ],
  [
    "an early sign that was wrong, and the migration went on",
    [
      [a(), b({ sign: { kind: "frame", seenMs: 9000 } })],
      [a({ sign: { kind: "frame", seenMs: 11_000 } }), b({ sign: { kind: "frame", seenMs: 9000 } })],
      [a(over), b({ ...stamp, sign: { kind: "frame", seenMs: 9000 } })],
    ],
    [
      "succeeded (in part) n1 > n2: target-created 1, guest-seen 9, switched 10 by early-sign, switched-back 20 by node-label, target-ready 20, switched 30 by ready-timestamp, over 30",
    ],
  ],
  [
    "failed before",
    [
      [a(), b()],
      [a(), b(failed)],
      [a(), b(failed)],
    ],
    ["failed-before-ready n1 > n2: target-created 1, over 20"],
  ],
  [
    "failed after",
    [
      [a(), b()],
      [a(), b(stamp)],
      [a(), b({ ...stamp, ...failed })],
    ],
    [
      "failed-after-ready n1 > n2: target-created 1, target-ready 20, switched 20 by ready-timestamp, switched-back 30 by node-label, over 30",
    ],
  ],
  [
    "the target's object went by force after it was ready",
    [[a(), b()], [a(), b(stamp)], [a()]],
    [
      "failed-after-ready n1 > n2: target-created 1, target-ready 20, switched 20 by ready-timestamp, switched-back 30 by node-label, over 30",
    ],
  ],
  [
    "one target after another, the first not seen to end",
    [
      [a(), b()],
      [a(), c()],
      [a(over), c(stamp)],
    ],
    [
      "failed-before-ready n1 > n2: target-created 1, over 20",
      "succeeded n1 > n3: target-created 2, target-ready 20, switched 30 by ready-timestamp, over 30",
    ],
  ],
  [
    "the VM is stopped meanwhile",
    [
      [a(), b()],
      [a(over), b(over)],
    ],
    ["vm-stopped n1 > n2: target-created 1, over 20"],
  ],
  [
    "begun in the middle",
    [
      [a(), b(stamp)],
      [a(over), b(stamp)],
    ],
    ["succeeded (in part) n1 > n2: target-created 1, target-ready 20, switched 10 by ready-timestamp, over 20"],
  ],
  [
    "begun when it was over, and nobody has recorded it",
    [[a(over), b(stamp)]],
    ["succeeded (in part) ? > n2: target-created 1, target-ready 20, switched 10 by ready-timestamp, over 10"],
  ],
  ["no migration", [[a()], [a(over)], []], []],
])("%s", (_, looks, expected) => {
  expect(ended(looks).map(told)).toEqual(expected);
});

it("what is on record already is not recorded again", () => {
  expect(
    ended(
      [
        [a(over), b(stamp)],
        [a(), b(failed)],
      ],
      true,
    ),
  ).toEqual([]);
});

it("words for people, and an annotation of less than a kilobyte", () => {
  const words = (looks: Launcher[][], gapMs?: number) => {
    const [receipt] = ended(looks);
    const {
      type,
      reason,
      words: text,
    } = eventOf({ ...receipt!, ...(gapMs !== undefined && { gapMs }) }, ["10.244.1.4"]);
    return `${type} ${reason}: ${text}`;
  };
  const way = [
    [a(), b()],
    [a(), b(stamp)],
    [a(over), b(stamp)],
  ];
  expect(words(way, 84.6)).toBe(
    "Normal AddressMoved: 10.244.1.4 moved from n1 to n2 at 1970-01-01T00:00:20Z, told by KubeVirt's timestamp. " +
      "The longest silence was 85 ms.",
  );
  expect(
    words([
      [a(), b()],
      [a(), b(failed)],
    ]),
  ).toBe("Warning MigrationFailed: The migration to n2 failed; 10.244.1.4 stayed on n1.");
  expect(words([[a(), b()], [a(), b(stamp)], [a()]])).toBe(
    "Warning AddressMovedBack: The migration to n2 failed after the guest ran there; 10.244.1.4 is on n1 again.",
  );
  expect(words([[a(over), b(stamp)]])).toContain("moved to n2 by 1970-01-01T00:00:10Z, told by");
  const text = receiptText(ended(way)[0]!);
  expect(text.length).toBeLessThan(1000);
  expect(JSON.parse(text)).toMatchObject({ end: "succeeded", from: { node: "n1" }, to: { node: "n2" }, isWhole: true });
});
