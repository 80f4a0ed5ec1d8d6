// Random runs of which the seed decides everything: what fails once fails every time, and can be made small.
import { describe, expect, it } from "vitest";

import type { Transport } from "../../src/kube/transport/transport.ts";
import { volume } from "../volume.ts";
import { randomEmbeddedServer } from "./random-embedded-server.ts";
import { users } from "./random-run.ts";
import { shrink, type Trial } from "./random-shrink.ts";
import { playedBySeed, randomRuns } from "./random-suite.ts";

randomRuns("embedded API, every move by the seed", randomEmbeddedServer, {
  steps: volume(150, 1500),
  stepsPerRun: 150,
  fixed: [1, 2],
  servers: "fresh",
  by: "seed",
});

describe("every move by the seed", { timeout: 300_000 }, () => {
  it("one seed is one story, to the byte, and another is another", async () => {
    const story = async (seed: number) => playedBySeed(randomEmbeddedServer, { seed, steps: 60, without: [] });
    const [first, second, other] = [await story(7), await story(7), await story(8)];
    expect(first.trace.length).toBeGreaterThan(1000);
    expect(second.trace.join("\n")).toBe(first.trace.join("\n"));
    expect(second.changes).toEqual(first.changes);
    expect(other.trace.join("\n")).not.toBe(first.trace.join("\n"));
  });

  it("a leader who is told that there are no pods tells of none: the same faults every time, and a smaller run has them", async () => {
    const play = (trial: Trial) =>
      playedBySeed(randomEmbeddedServer, { ...trial, seed: 3, patienceMs: 500 }, (who, line) =>
        who === "leader" ? podless(line) : line,
      );
    const trial: Trial = { steps: 30, without: [] };
    const [first, second] = [await play(trial), await play(trial)];
    expect(first.faults).toContainEqual(expect.stringContaining("no claim of"));
    expect(second.faults).toEqual(first.faults);
    const needed = users.slice(0, 4);
    const fails = async (each: Trial) => (await play(each)).faults.some((fault) => fault.includes("no claim of"));
    const small = await shrink({ trial: { ...trial, without: users.slice(4) }, users, fails, tries: 1 });
    expect(small.steps).toBeLessThan(trial.steps);
    expect(needed.filter((each) => !small.without.includes(each)).length).toBeGreaterThan(0);
  });
});

/** A server whose lists of pods are empty, and whose watches of them tell nothing. */
function podless(transport: Transport): Transport {
  return async (request) => {
    const response = await transport(request);
    if (request.method !== "GET" || !/\/pods(\?|$)/.test(request.path)) return response;
    if (/[?&]watch=true/.test(request.path)) return { ...response, body: silence(response.body) };
    return { ...response, body: emptied(response.body) };
  };
}

async function* emptied(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const list = JSON.parse(Buffer.concat(await Array.fromAsync(body)).toString()) as object;
  yield Buffer.from(JSON.stringify({ ...list, items: [] }));
}

// oxlint-disable-next-line require-yield -- nothing is what it tells
async function* silence(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const _ of body);
}
