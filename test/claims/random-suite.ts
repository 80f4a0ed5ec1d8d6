// Random runs as tests, on an API server of either kind. Every run prints its seed; HOLDFAST_CLAIMS_SEED=SEED repeats
// its choices (where `by` is "seed", everything). HOLDFAST_CLAIMS_STEPS sets the length,
// HOLDFAST_CLAIMS_WITHOUT=vm-3,faults leaves users out, HOLDFAST_CLAIMS_SHRINK=1 prints the smallest run that still
// fails (random-shrink.ts), HOLDFAST_CLAIMS_STORY=FILE keeps all changes of a failed run.
import { writeFileSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import type { Server } from "../node/fixture.ts";
import type { Change } from "./checker-record.ts";
import { prepare } from "./random-fixture.ts";
import { run, type RunOptions, users, type Verdict } from "./random-run.ts";
import { Schedule } from "./random-schedule.ts";
import { shrink, type Trial } from "./random-shrink.ts";

export interface RandomServer extends Server {
  readonly compact?: () => void;
}

export interface RandomOptions {
  /** Of all runs together. */
  readonly steps: number;
  /** Worlds begin empty, so that their ends are looked at often. */
  readonly stepsPerRun?: number;
  /** Seeds of the first runs; those of the others differ from run to run. */
  readonly fixed?: readonly number[];
  /** A server for each run, or one for all. */
  readonly servers: "fresh" | "one";
  /** Who decides what moves next: waits of processes, or the seed (random-schedule.ts), on a fresh embedded server. */
  readonly by?: "waits" | "seed";
  readonly startMs?: number;
}

/** A step takes 20 ms as a rule, a run a few seconds; a busy machine, or a fault that shows at the end, longer. */
const runMs = process.env["HOLDFAST_CLAIMS_SHRINK"] === undefined ? 600_000 : 3_600_000;

export function randomRuns(title: string, start: () => Promise<RandomServer>, options: RandomOptions): void {
  const { env } = process;
  const given = env["HOLDFAST_CLAIMS_SEED"];
  const steps = Number(env["HOLDFAST_CLAIMS_STEPS"] ?? options.stepsPerRun ?? 500);
  const count = given === undefined ? Math.ceil(options.steps / steps) : 1;
  const fresh = () => Math.floor(Math.random() * 2 ** 32);
  const { fixed = [] } = options;
  const seeds = Array.from({ length: count }, (_, index) =>
    given === undefined ? (fixed[index] ?? fresh()) : Number(given),
  );

  describe(`persistent addresses, at random, on the ${title}`, { timeout: runMs }, () => {
    let shared: RandomServer | undefined;
    beforeAll(async () => {
      if (options.servers === "one") shared = await opened(start);
    }, options.startMs);
    afterAll(() => shared?.stop());

    it.each(seeds.map((seed, index) => ({ seed, index })))("seed $seed", async ({ seed, index }) => {
      const without = (env["HOLDFAST_CLAIMS_WITHOUT"] ?? "").split(",").filter((each) => each !== "");
      let number = index;
      const play = (trial: Trial) =>
        options.by === "seed"
          ? playedBySeed(start, { ...trial, seed })
          : played(shared, start, { ...trial, seed, number: (number = (number % 255) + 1) });
      const verdict = await play({ steps, without });
      tell(seed, verdict);
      if (verdict.faults.length > 0 && env["HOLDFAST_CLAIMS_SHRINK"] !== undefined) {
        const fails = async (trial: Trial) => (await play(trial)).faults.length > 0;
        const tries = options.by === "seed" ? 1 : 3;
        const small = await shrink({ trial: { steps, without }, users, fails, tries });
        const settings = `HOLDFAST_CLAIMS_STEPS=${small.steps} HOLDFAST_CLAIMS_WITHOUT=${small.without.join(",")}`;
        process.stdout.write(`the smallest that fails: HOLDFAST_CLAIMS_SEED=${seed} ${settings}\n`);
      }
      expect(verdict.faults.slice(0, 20), `HOLDFAST_CLAIMS_SEED=${seed}`).toEqual([]);
      expect(verdict.steps).toBeGreaterThanOrEqual(steps);
    });
  });
}

type Start = () => Promise<RandomServer>;

async function opened(start: Start): Promise<RandomServer> {
  const server = await start();
  await prepare(new KubeClient({ transport: server.transport }));
  return server;
}

async function played(
  shared: RandomServer | undefined,
  start: Start,
  trial: Omit<RunOptions, "transport">,
): Promise<Verdict> {
  const server = shared ?? (await opened(start));
  try {
    const { transport, compact } = server;
    return await run({ ...trial, transport, ...(compact && { compact }) });
  } finally {
    if (server !== shared) await server.stop();
  }
}

export interface Played extends Verdict {
  readonly trace: readonly string[];
}

/** The same in every run. `change`: what becomes of one part's way to the server. */
export async function playedBySeed(
  start: Start,
  trial: Trial & Pick<RunOptions, "seed" | "patienceMs">,
  change: (who: string, line: Transport) => Transport = (_, line) => line,
): Promise<Played> {
  const schedule = new Schedule(trial.seed);
  const verdict = await schedule.play(async () => {
    const server = await opened(start);
    try {
      const { transport, compact } = server;
      const lineOf = (who: string) => schedule.line(who, change(who, transport));
      return await run({ ...trial, transport, lineOf, number: 1, ...(compact && { compact }) });
    } finally {
      await server.stop();
    }
  });
  return { ...verdict, trace: schedule.trace };
}

function tell(seed: number, { done, refusals, steps, changes, faults }: Verdict): void {
  const counted = (what: ReadonlyMap<string, number>) =>
    [...what].toSorted(([, a], [, b]) => b - a).map(([word, count]) => `${count} ${word}`);
  process.stdout.write(`seed ${seed}: ${steps} steps, ${changes.length} changes: ${counted(done).join(", ")}\n`);
  if (process.env["HOLDFAST_CLAIMS_SEED"] !== undefined)
    process.stdout.write(`refused:\n  ${counted(refusals).join("\n  ")}\n`);
  if (faults.length === 0) return;
  const lines = changes.map((change) => ({ change, text: JSON.stringify(change.object) }));
  const file = process.env["HOLDFAST_CLAIMS_STORY"];
  if (file !== undefined)
    writeFileSync(file, [...faults, ...lines.map(({ change, text }) => `${heading(change)} ${text}`)].join("\n"));
  process.stdout.write(`${faults[0]!}\n`);
  for (const { change, text } of lines.filter(({ text: each }) => isAbout(faults[0]!, each)).slice(-storyLines))
    process.stdout.write(`  ${heading(change)} ${withoutNoise(text)}\n`);
}

/** A run on waits does not come again: what is printed of a failed one is all that there will be. */
const storyLines = 60;

function heading({ version, type, kind }: Change): string {
  return `${version} ${type} ${kind}`;
}

/** Whether an object names an address or a UID of the fault. */
function isAbout(fault: string, object: string): boolean {
  const words =
    fault.match(/\d+\.\d+\.\d+\.\d+|[0-9a-f]{4}:[0-9a-f:]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
  return words.some((word) => object.includes(word));
}

function withoutNoise(object: string): string {
  return JSON.stringify(JSON.parse(object), (key, value: unknown) => (key === "managedFields" ? undefined : value));
}
