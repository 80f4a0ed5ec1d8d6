import { expect, it } from "vitest";

import { workLeft } from "./quiet.ts";

it("counts keys that wait and workers that work, of every controller, and nothing else", () => {
  const text = [
    "# HELP workqueue_depth Keys that wait.",
    'workqueue_depth{name="claims"} 3',
    'workqueue_depth{name="pools"} 0',
    'controller_runtime_active_workers{controller="claims"} 2',
    'workqueue_adds_total{name="claims"} 70',
  ].join("\n");
  expect(workLeft(text)).toBe(5);
  expect(workLeft(text, "claims")).toBe(5);
  expect(workLeft(text, "pools")).toBe(0);
  expect(workLeft("")).toBe(0);
});
