// What the benchmark of managed pools writes: bindings that do not meet, and the controller as it is shipped.
import { expect, test } from "vitest";

import { binding } from "./plan.ts";
import { shippedController } from "./shipped.ts";

test("100,000 bindings have different addresses and MACs, inside the pool and all over it", () => {
  const all = Array.from({ length: 100_000 }, (_, index) => binding(index));
  expect(new Set(all.map(({ address }) => address.value)).size).toBe(all.length);
  expect(new Set(all.map(({ mac }) => mac)).size).toBe(all.length);
  expect(all[1]!.mac).toBe("02:00:00:00:00:01");
  expect(all.every(({ address: { value } }) => value >= 0x0a00_0002 && value <= 0x0aff_fffe)).toBe(true);
  expect(new Set(all.map(({ address }) => address.value >> 16)).size).toBe(256);
});

test("the controller's arguments and environment are the Deployment's; what the cluster fills in is left out", () => {
  const text = `kind: Deployment
metadata: { name: other }
spec: { template: { spec: { containers: [{ args: [no] }] } } }
---
kind: Deployment
metadata: { name: holdfast-controller }
spec:
  template:
    spec:
      containers:
        - args: [controller, --log-format=json]
          env: [{ name: A, value: b }, { name: POD_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }]
`;
  expect(shippedController(text)).toEqual({ args: ["controller", "--log-format=json"], env: { A: "b" } });
  expect(() => shippedController("kind: Pod")).toThrow("no Deployment holdfast-controller");
  expect(shippedController().args[0]).toBe("controller");
});
