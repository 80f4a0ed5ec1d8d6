// A migration that is killed with -9 after every single one of its writes, there and back: no address is lost at any
// moment, nobody is let in while something is half moved, and the next call ends it as if nothing had happened.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, expect, it } from "vitest";

import { readAllocations } from "../../src/api/pools/allocations.ts";
import { fetchState } from "../../src/cluster/state.ts";
import { realClock } from "../../src/kube/clock.ts";
import type { KubeClient } from "../../src/kube/rest.ts";
import { apply } from "../../src/transfer/apply.ts";
import { readSurvey } from "../../src/transfer/plan/survey.ts";
import { plainGoal } from "../../src/transfer/plan/testing/goal.ts";
import { fileStore } from "../../src/transfer/record/record-file.ts";
import { rollback } from "../../src/transfer/rollback.ts";
import { stepsOf } from "../volume.ts";
import { installDefinitions, moveOut, portrait, settleIn, system, village } from "./fixtures.ts";

/** More than the writes of any of these migrations: whoever needs more does not end. */
const mostWrites = 100;

type MigrateVerb = "apply" | "rollback";

export interface KillFixture {
  readonly client: KubeClient;
  /** Of an administrator. */
  readonly kubeconfig: string;
  readonly stop: () => Promise<void>;
}

export function killSuite(name: string, start: () => Promise<KillFixture>): void {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-kill-"));
  const record = join(folder, "record.json");
  let fixture: KillFixture;
  let client: KubeClient;

  beforeAll(async () => {
    fixture = await start();
    ({ client } = fixture);
    await installDefinitions(client);
  }, 300_000);
  afterAll(async () => {
    await fixture?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** In this process, to its end: what a second call does. */
  async function finish(command: MigrateVerb): Promise<void> {
    const options = {
      client,
      clock: realClock,
      store: fileStore(record),
      systemNamespace: system,
      newId: () => "next",
      say: () => {},
      quietMs: { fenced: 10, unfenced: 10 },
      signal: new AbortController().signal,
    };
    if (command === "rollback") await rollback({ ...options, force: false });
    else await apply({ ...options, goal: { ...plainGoal, to: "namespaced" }, editDefinitions: true });
  }

  /** In a process of its own. The API is served by this one, so it must not be waited for synchronously. */
  async function run(command: MigrateVerb, killAfter = 0): Promise<{ code: number | null; writes: number }> {
    const child = spawn(
      process.execPath,
      [
        fileURLToPath(new URL("migrate-process.ts", import.meta.url)),
        command,
        fixture.kubeconfig,
        record,
        String(killAfter),
      ],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, writes: Number(text) };
  }

  /** Every address that is held, and by whom, wherever it says so. */
  async function held(): Promise<Set<string>> {
    const survey = await readSurvey(client, system, new AbortController().signal);
    const entries = survey.pools.flatMap((pool) =>
      readAllocations(pool).entries.map(({ address, owner }) => `${address} ${owner.namespace}/${owner.name}`),
    );
    const records = survey.reservations.map(
      ({ metadata, spec }) => `${metadata.name!.replace(/^(lan|wan|solo)-/, "")} ${spec.podref}`,
    );
    return new Set([...entries, ...records.map(canonical)]);
  }

  it(`${name}: killed after each write of apply and of rollback`, async () => {
    await settleIn(client, village);
    const before = await portrait(client);
    const addresses = await held();
    // The first time makes the lease and the state, which stay; from then on each time makes the same writes.
    await finish("apply");
    await finish("rollback");
    const whole = await run("apply");
    expect(whole.code).toBe(0);
    const after = await portrait(client);
    const back = await run("rollback");
    expect(await portrait(client)).toEqual(before);
    expect(whole.writes).toBeGreaterThan(20);
    expect(whole.writes).toBeLessThan(mostWrites);

    const killed = async (command: MigrateVerb, n: number, from: string[], to: string[]) => {
      const where = `${command}, killed after write ${n}`;
      expect(await portrait(client), where).toEqual(from);
      expect((await run(command, n)).code, where).toBeNull();
      expect([...addresses.difference(await held())], `${where}: lost`).toEqual([]);
      const state = await portrait(client);
      const isHalfMoved =
        JSON.stringify(state) !== JSON.stringify(before) && JSON.stringify(state) !== JSON.stringify(after);
      const paused = (await fetchState(client, { namespace: system }))?.data?.["paused"] ?? "";
      expect(paused !== "" || !isHalfMoved, `${where}: half moved, and not paused`).toBe(true);
      await finish(command);
      expect(await portrait(client), where).toEqual(to);
      expect((await fetchState(client, { namespace: system }))?.data?.["paused"], where).toBe("");
    };
    for (const n of stepsOf(Math.max(whole.writes, back.writes), 6)) {
      rmSync(record, { force: true });
      if (n <= whole.writes) await killed("apply", n, before, after);
      else await finish("apply");
      if (n <= back.writes) await killed("rollback", n, after, before);
      else await finish("rollback");
    }
    await moveOut(client);
  }, 1_800_000);
}

/** One spelling for both forms of an IPv6 name. */
const canonical = (line: string) => line.replace(/^fd00(-0002)?(-0000)*-2?-?-?0*7 /, "fd00:2::7 ");
