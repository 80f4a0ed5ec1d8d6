import { expect, test } from "vitest";

import { flowControlObjects } from "./flow-control.ts";

test("the accounts that are named, where they live, and nobody else", () => {
  const objects = flowControlObjects({ namespace: "holdfast", serviceAccounts: ["node"] });
  const rules = objects.flatMap(({ spec }) => spec.rules ?? []);
  expect(rules.flatMap(({ subjects }) => subjects)).toEqual([
    { kind: "ServiceAccount", serviceAccount: { namespace: "holdfast", name: "node" } },
  ]);
});

test("the controller does not wait behind its daemons", () => {
  const schemas = flowControlObjects().filter(({ kind }) => kind === "FlowSchema");
  const places = schemas.map(({ spec }) => [
    spec.priorityLevelConfiguration?.name,
    spec.rules?.flatMap(({ subjects }) => subjects.map(({ serviceAccount }) => serviceAccount.name)),
  ]);
  expect(places).toEqual([
    ["holdfast", ["holdfast-node"]],
    ["holdfast-controller", ["holdfast-controller"]],
  ]);
});
