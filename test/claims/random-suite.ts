// Random runs as tests, on an API server of either kind. Every run prints its seed; HOLDFAST_CLAIMS_SEED=SEED repeats the choices of one,
// HOLDFAST_CLAIMS_STEPS makes it longer or shorter, and HOLDFAST_CLAIMS_WITHOUT=vm-3,faults leaves users out. HOLDFAST_CLAIMS_SHRINK=1 looks for the smallest run of
// a seed that still fails (random-shrink.ts) and prints how to run it. HOLDFAST_CLAIMS_STORY=FILE keeps all changes of a run that failed.
import { writeFileSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { KubeClient } from "../../src/kube/rest.ts";
import type { Server } from "../node/world.ts";
import { run, users, type Verdict } from "./random-run.ts";
import { shrink, type Trial } from "./random-shrink.ts";
import { prepare } from "./random-world.ts";

export interface RandomServer extends Server {
  readonly compact?: () => void;
}

export interface RandomOptions {
  /** Of all runs together. */
  readonly steps: number;
  /** Worlds begin empty, so that their ends are looked at often. */
  readonly stepsPerRun?: number;
  /** A server for each run, or one for all. */
  readonly servers: "fresh" | "one";
  readonly startMs?: number;
}

/** As a rule a step takes 20 ms, and a run ends after a few seconds; a busy machine, and a fault that shows at the end, take their time. */
const runMs = process.env["HOLDFAST_CLAIMS_SHRINK"] === undefined ? 300_000 : 3_600_000;

export function randomRuns(title: string, start: () => Promise<RandomServer>, options: RandomOptions): void {
  const { env } = process;
  const given = env["HOLDFAST_CLAIMS_SEED"];
  const steps = Number(env["HOLDFAST_CLAIMS_STEPS"] ?? options.stepsPerRun ?? 500);
  const count = given === undefined ? Math.ceil(options.steps / steps) : 1;
  const seeds = Array.from({ length: count }, () =>
    given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given),
  );

  describe(`persistent addresses, at random, on the ${title}`, { timeout: runMs }, () => {
    let shared: RandomServer | undefined;
    const open = async () => {
      const server = await start();
      await prepare(new KubeClient({ transport: server.transport }));
      return server;
    };
    beforeAll(async () => {
      if (options.servers === "one") shared = await open();
    }, options.startMs);
    afterAll(() => shared?.stop());

    it.each(seeds.map((seed, index) => ({ seed, index })))("seed $seed", async ({ seed, index }) => {
      const server = shared ?? (await open());
      try {
        const { transport, compact } = server;
        const without = (env["HOLDFAST_CLAIMS_WITHOUT"] ?? "").split(",").filter((each) => each !== "");
        const common = { transport, seed, ...(compact && { compact }) };
        const verdict = await run({ ...common, steps, without, number: index + 1 });
        tell(seed, verdict);
        if (verdict.faults.length > 0 && env["HOLDFAST_CLAIMS_SHRINK"] !== undefined) {
          let number = 1;
          const again = (trial: Trial) => run({ ...common, ...trial, number: (number = (number % 255) + 1) });
          const fails = async (trial: Trial) => (await again(trial)).faults.length > 0;
          const small = await shrink({ trial: { steps, without }, users, fails });
          const settings = `HOLDFAST_CLAIMS_STEPS=${small.steps} HOLDFAST_CLAIMS_WITHOUT=${small.without.join(",")}`;
          process.stdout.write(`the smallest that fails: HOLDFAST_CLAIMS_SEED=${seed} ${settings}\n`);
        }
        expect(verdict.faults.slice(0, 20), `HOLDFAST_CLAIMS_SEED=${seed}`).toEqual([]);
        expect(verdict.steps).toBeGreaterThanOrEqual(steps);
      } finally {
        if (server !== shared) await server.stop();
      }
    });
  });
}

function tell(seed: number, { done, refusals, steps, changes, faults }: Verdict): void {
  const counted = (what: ReadonlyMap<string, number>) =>
    [...what].toSorted(([, a], [, b]) => b - a).map(([word, count]) => `${count} ${word}`);
  process.stdout.write(`seed ${seed}: ${steps} steps, ${changes.length} changes: ${counted(done).join(", ")}\n`);
  if (process.env["HOLDFAST_CLAIMS_SEED"] !== undefined)
    process.stdout.write(`refused:\n  ${counted(refusals).join("\n  ")}\n`);
  const file = process.env["HOLDFAST_CLAIMS_STORY"];
  if (file === undefined || faults.length === 0) return;
  const lines = changes.map(
    ({ version, type, kind, object }) => `${version} ${type} ${kind} ${JSON.stringify(object)}`,
  );
  writeFileSync(file, [...faults, ...lines].join("\n"));
}
