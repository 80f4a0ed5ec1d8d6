// What is written to a zone and when: before the first write its sweep, after a failure everything again.
import { expect, it } from "vitest";

import { parseMac } from "../../net/mac.ts";
import type { VmPlacement } from "../../ovn/vm/placement.ts";
import { type KnownVms, oneZone } from "./placement-writer.ts";
import { ZoneRows } from "./zone-rows.ts";

const { signal } = new AbortController();
const at = (activeNode: string): VmPlacement => ({
  namespace: "t",
  name: "vm1",
  mac: parseMac("0a:58:0a:f4:01:04"),
  addresses: [],
  homeNode: "n1",
  activeNode,
  ports: [],
});

/** `failing`: which calls fail, counted from 1. */
function rowsWith(...failing: number[]) {
  const calls: string[] = [];
  const call = async (what: string) => {
    calls.push(what);
    if (failing.includes(calls.length)) throw new Error("no answer");
  };
  const writer = {
    write: (zone: string, vms: ReadonlyMap<string, VmPlacement | "gone">) =>
      call(`${zone}: ${[...vms].map(([vm, row]) => `${vm} ${row === "gone" ? row : row.activeNode}`).join()}`),
    sweep: (zone: string, known: KnownVms) => call(`${zone}: all but ${[...known.keys()].join()}`),
  };
  const rows = new ZoneRows({ writer, zones: oneZone("z"), known: () => new Map([["t/vm1", undefined]]) });
  return { rows, calls, write: (row: VmPlacement | "gone") => rows.write("t/vm1", row, signal).catch(() => {}) };
}

it("a zone is swept once, before the first write, and what has not changed is not written again", async () => {
  const { calls, write, rows } = rowsWith();
  expect(rows.unswept).toEqual(["z"]);
  for (const node of ["n1", "n1", "n2"]) await write(at(node));
  expect(calls).toEqual(["z: all but t/vm1", "z: t/vm1 n1", "z: t/vm1 n2"]);
  expect(rows.unswept).toEqual([]);
});

it("where the sweep fails nothing is written, and it is tried again", async () => {
  const { calls, write } = rowsWith(1);
  await write(at("n1"));
  await write(at("n1"));
  expect(calls).toEqual(["z: all but t/vm1", "z: all but t/vm1", "z: t/vm1 n1"]);
});

it("after a write whose end is not known what was there before is written too", async () => {
  const { calls, write } = rowsWith(3);
  for (const node of ["n1", "n2", "n1"]) await write(at(node));
  expect(calls.slice(1)).toEqual(["z: t/vm1 n1", "z: t/vm1 n2", "z: t/vm1 n1"]);
});

it("a VM that is gone and comes again is written again; what is forgotten too, after another sweep", async () => {
  const { calls, write, rows } = rowsWith();
  for (const row of [at("n1"), "gone", at("n1")] as const) await write(row);
  rows.forget();
  await write(at("n1"));
  expect(calls.slice(1)).toEqual(["z: t/vm1 n1", "z: t/vm1 gone", "z: t/vm1 n1", "z: all but t/vm1", "z: t/vm1 n1"]);
});
