// What daemons are told, and when they must look at everything again.
import { beforeEach, describe, expect, it, test } from "vitest";

import type { ConfigMap } from "../cluster/resources.ts";
import { slicedKey, writeSlicedRanges } from "../cluster/sliced-ranges.ts";
import { stateObject } from "../cluster/testing/state.ts";
import type { InformerHandler } from "../kube/cache/informer.ts";
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
  const disk: { version: number; place: string | undefined } = { version: 0, place: undefined };
  seen = {
    get version() {
      return disk.version;
    },
    get place() {
      return disk.place;
    },
    raise(version, place = disk.place) {
      disk.version = Math.max(disk.version, version);
      disk.place = place;
    },
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

describe("the namespace of the pools", () => {
  const say = (version: number, more: Record<string, string> = {}) => {
    const { data, ...rest } = stateObject(namespace, { coexistence: true, why: "", paused: "" });
    object = { ...rest, data: { ...data, [slicedKey]: writeSlicedRanges({ version, ranges: [] }), ...more } };
    tell({ type: "update", object, previous: object });
  };

  it("is where the leader says, also while the state is gone; another place means to look at all again", () => {
    say(1);
    expect(state.poolNamespace).toBe(namespace);
    say(2, { "pool-namespace": "theirs" });
    expect([state.poolNamespace, changes]).toEqual(["theirs", 1]);
    expect(state.claimObstacle).toContain("whereabouts is active");
    say(2, { "pool-namespace": "theirs", coexistence: "off" });
    expect(state.claimObstacle, "a claim's address would have two ledgers").toContain("in the namespace theirs");
    const last = object!;
    object = undefined;
    tell({ type: "delete", object: last, missed: false });
    expect([state.poolNamespace, changes]).toEqual(["theirs", 2]);
  });

  test.each<[string, () => void, string]>([
    ["lost", () => say(5), "does not say where pools are"],
    ["lost, in a newer state (a restore of before the move)", () => say(6), "does not say where pools are"],
    ["another by the same version", () => say(5, { "pool-namespace": "other" }), "by the same version"],
    ["the system's by the same version", () => say(5, { "pool-namespace": "" }), "by the same version"],
  ])("is not believed where it is %s, in this life and in the next; nothing is handed out", (_, spoil, why) => {
    say(5, { "pool-namespace": "theirs" });
    expect([state.poolNamespace, state.sliced.unknown]).toEqual(["theirs", ""]);
    spoil();
    for (const each of [state, (state = make())]) {
      expect([each.poolNamespace, each.sliced.unknown]).toEqual(["theirs", expect.stringContaining(why)]);
    }
    say(6, { "pool-namespace": "theirs" });
    expect([state.poolNamespace, state.sliced.unknown], "it is said again").toEqual(["theirs", ""]);
    say(7, { "pool-namespace": "" });
    expect([state.poolNamespace, state.sliced.unknown], "by a newer version").toEqual([namespace, ""]);
    say(7);
    expect(state.sliced.unknown).toBe("");
  });

  it("is not taken for the system's on a new node where the operator's word names another", () => {
    say(5, { "coexistence-word": "on", "coexistence-namespace": "theirs" });
    expect(state.sliced.unknown).toContain("does not say where pools are");
  });
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
