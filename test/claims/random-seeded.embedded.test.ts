import { expect, it } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { run, type Verdict } from "./random-run.ts";
import { Schedule } from "./random-schedule.ts";
import { prepare } from "./random-world.ts";
import { writeFileSync } from "node:fs";

async function played(seed: number, steps: number): Promise<Verdict & { readonly trace: readonly string[] }> {
  const schedule = new Schedule(seed);
  const verdict = await schedule.play(async () => {
    const api = openApi({ path: ":memory:" });
    try {
      const { transport } = api;
      await prepare(new KubeClient({ transport }));
      const lineOf = (who: string) => schedule.line(who, transport);
      return await run({ transport, lineOf, seed, steps, number: 1, compact: () => api.compact() });
    } finally {
      api.close();
    }
  });
  return { ...verdict, trace: schedule.trace };
}

it("one seed is one story, byte for byte", async () => {
  const seed = 7;
  const t0 = performance.now();
  const a = await played(seed, 100);
  console.log(performance.now() - t0, a.trace.length, a.faults, a.done);
  writeFileSync("/tmp/nodes/a.txt", a.trace.join("\n"));
  const b = await played(seed, 100);
  writeFileSync("/tmp/nodes/b.txt", b.trace.join("\n"));
  expect(b.trace).toEqual(a.trace);
});
