// The fence's rounds, with a world of values around it; test/kernel has it in real namespaces.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import type { Hold } from "../../../ipam/ledger.ts";
import { ManualClock } from "../../../kube/testing/manual-clock.ts";
import { makeLog } from "../../../log/log.ts";
import { parseAddress } from "../../../net/address.ts";
import { type ObjectName, type Sandbox, Sandboxes } from "../../holds/sandboxes.ts";
import type { PodState } from "./fence-facts.ts";
import { Fence, type FenceOptions } from "./fence.ts";

const never = new AbortController().signal;
const claim = { namespace: "shop", name: "vm.blue", uid: "claim-1" };
const sandbox = (containerId: string, uid = containerId): Sandbox => ({
  containerId,
  interfaceName: "net1",
  netns: `/run/netns/${containerId}`,
  pod: { namespace: "shop", name: `pod-${uid}`, uid },
  claim,
  holds: [{ namespace: "kube-system", domain: "network:", address: "10.0.0.7", owner: { kind: "claim", ...claim } }],
});
const held: Hold = {
  domain: "network:",
  address: parseAddress("10.0.0.7"),
  owner: { kind: "claim", ...claim },
  version: "1",
  users: [{ uid: "young", name: "pod-young", node: "n2" }],
};

let state: string;
let clock: ManualClock;
/** UID -> what the server says; one that is not there is gone. */
let pods: Map<string, PodState>;
let lines: string[];
let told: number;
let asked: string[];
/** What becomes of the next attempts to take interfaces down. */
let failures: Error[];
let isAway: boolean;
let sandboxes: Sandboxes;
let fence: Fence;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "holdfast-fence-"));
  [clock, pods, lines, told, asked, failures, isAway] = [
    new ManualClock(),
    new Map([["young", "alive"]]),
    [],
    0,
    [],
    [],
    false,
  ];
  const shut: FenceOptions["shut"] = async ({ netns }) => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return [netns];
  };
  const log = makeLog({ write: (line) => lines.push(line), now: () => 0 });
  sandboxes = await Sandboxes.open({ folder: state, bootId: "b", identify: async () => "4:1", log });
  fence = new Fence({
    sandboxes,
    facts: {
      pod: async ({ uid }: ObjectName) => {
        if (isAway) throw new Error("connection refused");
        asked.push(uid);
        return pods.get(uid) ?? "gone";
      },
      hold: async () => held,
    },
    isAlive: () => false,
    shut,
    tell: () => (told += 1),
    onFence: () => {},
    clock,
    log,
  });
});
afterEach(async () => {
  await sandboxes.close();
  await rm(state, { recursive: true });
});

test("what the kernel refuses is said aloud and tried again, and no event claims that it was done", async () => {
  failures = [new Error("cannot enter the network namespace")];
  await sandboxes.remember(sandbox("old"));
  await fence.look(never);
  expect([told, lines.length]).toEqual([0, 1]);
  expect(lines[0]).toContain("could not be cut off");
  expect(lines[0]).toContain("cannot enter the network namespace");
  await fence.look(never);
  expect(lines, "not in every round").toHaveLength(1);
  await clock.advance(60_000);
  await fence.look(never);
  expect(told).toBe(1);
});

test("one that cannot be cut off keeps nobody else from it", async () => {
  failures = [new Error("refused")];
  await sandboxes.remember(sandbox("first"));
  await sandboxes.remember(sandbox("second"));
  await fence.look(never);
  expect(told).toBe(1);
});

test("while the API server is away nothing is known, and nothing is done; after it, at once", async () => {
  await sandboxes.remember(sandbox("old"));
  isAway = true;
  await fence.look(never);
  expect([told, asked]).toEqual([0, []]);
  isAway = false;
  await clock.advance(6000);
  await fence.look(never);
  expect(told).toBe(1);
});

test("a pod that lives costs one question, until the next round of the informer", async () => {
  pods.set("old", "alive");
  await sandboxes.remember(sandbox("old"));
  await fence.look(never);
  expect([told, asked]).toEqual([0, ["old"]]);
});

test("rounds go on until they are called off", async () => {
  await sandboxes.remember(sandbox("old"));
  pods.set("old", "alive");
  const stop = new AbortController();
  const running = fence.run(stop.signal);
  await clock.advance(2000);
  expect(told).toBe(0);
  pods.delete("old");
  await clock.advance(2000);
  await expect.poll(() => told).toBe(1);
  stop.abort();
  await running;
});
