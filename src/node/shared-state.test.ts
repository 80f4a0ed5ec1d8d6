// What daemons are told, and when they must look at everything again.
import { beforeEach, describe, expect, it, test } from "vitest";

import type { InformerHandler } from "../kube/informer.ts";
import type { ConfigMap } from "../ledger/resources.ts";
import { slicedKey, writeSlicedRanges } from "../ledger/sliced-ranges.ts";
import { stateObject } from "../ledger/state.ts";
import { silent } from "../log/log.ts";
import { parsePrefix } from "../net/prefix.ts";
import { SharedState, type SharedStateOptions } from "./shared-state.ts";
import type { SeenVersion } from "./slices/seen-version.ts";

const namespace = "kube-system";
let object: ConfigMap | undefined;
let tell: InformerHandler<ConfigMap>;
let changes: number;
let state: SharedState;

let seen: SeenVersion;

beforeEach(() => {
  object = undefined;
  changes = 0;
  const disk = { version: 0 };
  seen = {
    get version() {
      return disk.version;
    },
    raise: (version) => void (disk.version = Math.max(disk.version, version)),
  };
  state = make();
});

function make(): SharedState {
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
  return new SharedState({ informer, systemNamespace: namespace, log: silent, seen, onChange });
}

function write(coexistence: boolean, paused = ""): void {
  object = stateObject(namespace, { coexistence, why: "", paused });
  tell({ type: "add", object });
}

it("pools that were opened before anything was known are looked at again when the leader says that whereabouts is away", () => {
  expect(state.coexistence).toBe(true); // what is given back before goes by the careful word
  write(false);
  expect([state.coexistence, changes]).toEqual([false, 1]);
});

it("what says the same again changes nothing", () => {
  write(true);
  write(true);
  expect(changes).toBe(0);
  write(true, "migration");
  expect([state.paused, changes]).toEqual(["migration", 1]);
});

it("a word that is gone counts on for what is given back, and starts nothing anew; nothing shared is handed out", () => {
  write(false);
  const last = object!;
  object = undefined;
  tell({ type: "delete", object: last, missed: false });
  expect([state.coexistence, changes]).toEqual([false, 1]);
  expect(state.sliced.unknown).toContain("is gone");
});

it("a state that says neither on nor off is told with its reason, and stops no slice", () => {
  const data = { coexistence: "undecided", why: "whereabouts keeps its pools in blue", paused: "" };
  const sliced = { [slicedKey]: writeSlicedRanges({ version: 5, ranges: [] }) };
  object = { metadata: { namespace }, data: { ...data, ...sliced } };
  tell({ type: "add", object });
  expect(state.sliced).toMatchObject({ version: 5, unknown: expect.stringContaining("its pools in blue") });
  expect(state.sliceObstacle).toBe("");
});

it("pools are where the leader says, also while the state is gone; another place means to look at all again", () => {
  write(true);
  expect(state.poolNamespace).toBe(namespace);
  object = { metadata: { namespace }, data: { ...object!.data, "pool-namespace": "theirs" } };
  tell({ type: "update", object, previous: object });
  expect([state.poolNamespace, changes]).toEqual(["theirs", 1]);
  expect(state.claimObstacle).toContain("whereabouts is active");
  object = { metadata: { namespace }, data: { ...object.data, coexistence: "off" } };
  tell({ type: "update", object, previous: object });
  expect(state.claimObstacle, "a claim's address would have two ledgers").toContain("in the namespace theirs");
  const last = object;
  object = undefined;
  tell({ type: "delete", object: last, missed: false });
  expect([state.poolNamespace, changes]).toEqual(["theirs", 2]);
});

describe("sliced ranges", () => {
  const place = { namespace, network: "blue", range: parsePrefix("10.0.0.0/16"), pool: "blue", blocks: [] };
  const open = { version: 5, ranges: [{ ...place, phase: "open" as const }] };
  const tellSliced = (text: string) => {
    const { data, ...rest } = stateObject(namespace, { coexistence: false, why: "", paused: "" });
    object = { ...rest, data: { ...data, [slicedKey]: text } };
  };
  const known = () =>
    `${state.sliced.version} ${state.sliced.ranges.length} ${state.sliced.unknown === "" ? "known" : "unknown"}`;

  it("are not known where nobody tells them, and what is told is on the disk", () => {
    expect(known()).toBe("0 0 unknown");
    tellSliced(writeSlicedRanges(open));
    expect([known(), seen.version]).toEqual(["5 1 known", 5]);
  });

  test.each<[string, () => void, string]>([
    ["gone", () => (object = undefined), "is gone"],
    ["spoilt", () => tellSliced("{"), "does not say"],
    [
      "of a phase that this version does not know",
      () => tellSliced(writeSlicedRanges(open).replace("open", "torn")),
      "does not say",
    ],
    ["older than what was seen", () => tellSliced(writeSlicedRanges({ version: 4, ranges: [] })), "version 4"],
  ])("are not known where the state is %s, in this life and in the next", (_, spoil, why) => {
    tellSliced(writeSlicedRanges(open));
    expect(known()).toBe("5 1 known");
    spoil();
    for (const each of [state, (state = make())]) {
      expect(each.sliced).toMatchObject({ version: 5, ranges: [], unknown: expect.stringContaining(why) });
    }
    tellSliced(writeSlicedRanges({ version: 6, ranges: [] }));
    expect(known()).toBe("6 0 known");
  });
});
