// What daemons are told, and when they must look at everything again.
import { beforeEach, expect, it } from "vitest";

import type { InformerHandler } from "../kube/informer.ts";
import type { ConfigMap } from "../ledger/resources.ts";
import { slicedKey, writeSlicedRanges } from "../ledger/sliced-ranges.ts";
import { stateObject } from "../ledger/state.ts";
import { silent } from "../log/log.ts";
import { parsePrefix } from "../net/prefix.ts";
import { SharedState, type SharedStateOptions } from "./shared-state.ts";

const namespace = "kube-system";
let object: ConfigMap | undefined;
let tell: InformerHandler<ConfigMap>;
let changes: number;
let state: SharedState;

beforeEach(() => {
  object = undefined;
  changes = 0;
  const informer = {
    cache: { get: () => object },
    hasSynced: true,
    synced: () => Promise.resolve(),
    handle: (handler: InformerHandler<ConfigMap>) => {
      tell = handler;
      return () => {};
    },
  } as unknown as SharedStateOptions["informer"];
  const onChange = () => void (changes += 1);
  state = new SharedState({ choice: "auto", informer, systemNamespace: namespace, log: silent, onChange });
});

function write(coexistence: boolean, paused = ""): void {
  object = stateObject(namespace, { coexistence, why: "", paused });
  tell({ type: "add", object });
}

it("pools that were opened before anything was known are looked at again when upstream proves to be away", () => {
  expect(state.coexistence).toBe(true); // an ADD opens a pool by this, and does not adopt it
  state.detected(false, []);
  expect([state.coexistence, changes]).toEqual([false, 1]);
});

it("and when the leader comes and says so", () => {
  expect(state.coexistence).toBe(true);
  write(false);
  expect([state.coexistence, changes]).toEqual([false, 1]);
});

it("what says the same again changes nothing", () => {
  state.detected(true, []);
  write(true);
  write(true);
  expect(changes).toBe(0);
  write(true, "migration");
  expect([state.paused, changes]).toEqual(["migration", 1]);
});

it("what was found out before the leader told is not believed when the leader's word is gone", () => {
  state.detected(false, []);
  write(true);
  const last = object!;
  object = undefined;
  tell({ type: "delete", object: last, missed: false });
  expect([state.mustDetect, state.coexistence]).toEqual([true, true]);
});

it("sliced ranges are not forgotten when the state is deleted, spoilt, or read from a server that lags", () => {
  const range = { namespace, network: "blue", range: parsePrefix("10.0.0.0/16"), pool: "blue", blocks: [] };
  const tellSliced = (text: string) => {
    object = { ...stateObject(namespace, { coexistence: false, why: "", paused: "" }) };
    object = { ...object, data: { ...object.data, [slicedKey]: text } };
  };
  const open = { version: 5, ranges: [{ ...range, phase: "open" as const }] };
  expect(state.sliced).toEqual({ version: 0, ranges: [] });
  tellSliced(writeSlicedRanges(open));
  expect(state.sliced).toMatchObject({ version: 5, ranges: [{ pool: "blue" }] });
  object = undefined;
  expect(state.sliced).toMatchObject({ version: 5, ranges: [{ pool: "blue" }] });
  tellSliced("{");
  expect(state.sliced).toMatchObject({ version: 5, ranges: [{ pool: "blue" }] });
  tellSliced(writeSlicedRanges({ version: 4, ranges: [] }));
  expect(state.sliced).toMatchObject({ version: 5, ranges: [{ pool: "blue" }] });
  tellSliced(writeSlicedRanges({ version: 6, ranges: [] }));
  expect(state.sliced).toEqual({ version: 6, ranges: [] });
});
