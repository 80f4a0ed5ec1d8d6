import { expect, it } from "vitest";

import type { Pod } from "../cluster/resources.ts";
import { migrationRows } from "../migration/receipts/migration-rows.ts";
import { receiptText } from "../migration/receipts/receipt-text.ts";
import type { Receipt } from "../migration/receipts/receipt.ts";
import { migrationsCommand } from "./migrations.ts";

const nowMs = Date.parse("2026-11-19T21:00:00Z");
const at = (text: string) => Date.parse(`2026-11-19T${text}Z`);

interface Played {
  readonly vm: string;
  readonly pod: string;
  readonly node: string;
  readonly created: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

function launcher({ vm, pod, node, created, labels, annotations }: Played): Pod {
  return {
    metadata: {
      namespace: "shop",
      name: pod,
      uid: `uid-${pod}`,
      creationTimestamp: `2026-11-19T${created}Z`,
      labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": `vmi-${vm}`, ...labels },
      annotations: {
        "kubevirt.io/allow-pod-bridge-network-live-migration": "",
        "kubevirt.io/domain": vm,
        ...annotations,
      },
    },
    spec: { nodeName: node },
    status: { phase: "Running" },
  };
}

const receipt: Receipt = {
  namespace: "shop",
  vm: "db",
  instance: "vmi-db",
  source: { pod: "db-1", uid: "1", node: "n1" },
  target: { pod: "db-2", uid: "2", node: "n2" },
  steps: [
    { step: "target-created", atMs: at("20:00:00") },
    { step: "target-ready", atMs: at("20:00:07") },
    { step: "switched", atMs: at("20:00:07.250"), trigger: "ready-timestamp", tookMs: 12.4 },
    { step: "over", atMs: at("20:00:09") },
  ],
  end: "succeeded",
  isWhole: true,
  gapMs: 81.6,
};
const target = { "kubevirt.io/migrationJobUID": "m" };
const pods = [
  launcher({
    vm: "db",
    pod: "db-2",
    node: "n2",
    created: "20:00:00",
    labels: { ...target, "kubevirt.io/nodeName": "n2" },
    annotations: { "holdfast.io/migration-receipt": receiptText(receipt) },
  }),
  launcher({ vm: "web", pod: "web-1", node: "n1", created: "19:00:00", labels: { "kubevirt.io/nodeName": "n1" } }),
  launcher({
    vm: "web",
    pod: "web-2",
    node: "n3",
    created: "20:59:00",
    labels: { ...target, "kubevirt.io/nodeName": "n1" },
  }),
  launcher({
    vm: "old",
    pod: "old-1",
    node: "n1",
    created: "18:00:00",
    annotations: { "holdfast.io/migration-receipt": "no receipt" },
  }),
];

async function printed(...flags: readonly string[]): Promise<string> {
  const lines: string[] = [];
  const command = migrationsCommand({ line: (text) => void lines.push(text) }, async (_, filter) =>
    migrationRows(pods, nowMs, filter),
  );
  await command.parseAsync(flags, { from: "user" });
  return lines.join("\n");
}

it("lists what is on record, and what goes on", async () => {
  const wide = await printed();
  expect(wide.split("\n").map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
    "NAMESPACE | VM | FROM | TO | STATE | BEGAN | SWITCHED | TOLD BY | ROWS | GAP",
    "shop | db | n1 | n2 | succeeded | 2026-11-19T20:00:00.000Z | 2026-11-19T20:00:07.250Z | ready-timestamp | 12 ms | 82 ms",
    "shop | web | n1 | n3 | in-progress | 2026-11-19T20:59:00.000Z | - | - | - | -",
  ]);
});

it.each([
  [["web"], ["web"]],
  [["shop/db"], ["db"]],
  [
    ["-n", "shop"],
    ["db", "web"],
  ],
  [["-n", "other"], []],
  [["other/db"], []],
])("%j", async (flags, vms) => {
  const { migrations } = JSON.parse(await printed(...flags, "-o", "json")) as { migrations: { vm: string }[] };
  expect(migrations.map(({ vm }) => vm)).toEqual(vms);
});

it("says so where there is nothing", async () => {
  expect(await printed("nobody")).toBe("There is no migration on record, and none goes on.");
});
