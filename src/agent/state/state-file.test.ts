import { expect, test } from "vitest";

import { ManualClock } from "../../kube/testing/manual-clock.ts";
import { type StateDisk, StateFile } from "./state-file.ts";
import { type AgentState, decodeState } from "./state-text.ts";

class MemoryDisk implements StateDisk {
  bytes: Buffer | undefined;
  writes = 0;
  isFull = false;

  async read() {
    return this.bytes;
  }

  async replace(_path: string, pieces: readonly Buffer[]) {
    if (this.isFull) throw new Error("no space left");
    this.writes++;
    this.bytes = Buffer.concat(pieces);
  }
}

const state = (savedMs: number): AgentState => ({ savedMs, networks: [] });

function made() {
  const clock = new ManualClock();
  const disk = new MemoryDisk();
  const errors: string[] = [];
  const file = new StateFile({ folder: "/nowhere", disk, clock, onError: ({ message }) => errors.push(message) });
  return { clock, disk, errors, file, stop: new AbortController() };
}

test("many changes are one write a second, and the last one is in the file", async () => {
  const { clock, disk, file, stop } = made();
  let last = 0;
  const run = file.run(() => state(last), stop.signal);
  for (let i = 1; i <= 100; i++) {
    last = i;
    file.touch();
    await clock.advance(50);
  }
  expect(disk.writes).toBeLessThanOrEqual(6);
  await clock.advance(2000);
  expect(decodeState(disk.bytes!).savedMs).toBe(100);
  const { writes } = disk;
  await clock.advance(10_000);
  expect(disk.writes).toBe(writes);
  last = 101;
  file.touch();
  stop.abort();
  await run;
  expect(decodeState(disk.bytes!).savedMs).toBe(101);
});

test("a disk that is full is told, and written to when there is room again", async () => {
  const { clock, disk, errors, file, stop } = made();
  disk.isFull = true;
  const run = file.run(() => state(1), stop.signal);
  file.touch();
  await clock.advance(1500);
  expect(errors[0]).toContain("no space left");
  disk.isFull = false;
  await clock.advance(2000);
  expect(disk.writes).toBe(1);
  stop.abort();
  await run;
});

test("nothing is written while not everything is known, and no file is no state", async () => {
  const { clock, disk, errors, file, stop } = made();
  const run = file.run(() => undefined, stop.signal);
  file.touch();
  await clock.advance(3000);
  expect([disk.writes, await file.read(), errors]).toEqual([0, undefined, []]);
  disk.bytes = Buffer.from("{}\n{}");
  expect(await file.read()).toBeUndefined();
  expect(errors[0]).toContain("The state file cannot be used");
  stop.abort();
  await run;
});
