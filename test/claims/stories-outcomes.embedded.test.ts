// What users ask about: snapshots, clones, pools, lost nodes; with the commands: backups, moves to another cluster.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { KubeClient } from "../../src/kube/rest.ts";
import { until } from "../lab/wait.ts";
import { prepare } from "./random-fixture.ts";
import { backUp, bringBack } from "./stories/backup.ts";
import type { StoryFixture } from "./stories/fixture.ts";
import { copies, lostNodes } from "./stories/outcomes.ts";
import { servedServer, type ServedServer } from "./stories/served.ts";
import { addressesOf, conditionOf } from "./stories/sight.ts";
import { onEmbedded, play } from "./stories/suite.ts";

onEmbedded("copies of VMs", copies);
onEmbedded("lost nodes", lostNodes);

/** A cluster in which commands can be run. */
async function inCluster(story: (fixture: StoryFixture, server: ServedServer) => Promise<void>): Promise<void> {
  const server = await servedServer();
  try {
    await prepare(new KubeClient({ transport: server.transport }));
    await play({ transport: server.transport, name: "shop", number: 9 }, (fixture) => story(fixture, server));
  } finally {
    await server.stop();
  }
}

const two = { nics: ["blue", "green"].map((name) => ({ name, definition: "blue" })) };

describe("commands", { timeout: 240_000 }, () => {
  it("restore from backup: `holdfast adopt` gives the VM the addresses of its earlier life, and only with its UID", async () => {
    await inCluster(async (fixture, { run }) => {
      const machine = await fixture.started("vm1", two);
      await fixture.is(machine, "BOUND", "green");
      const first = addressesOf(machine);
      const from = machine.vmUid!;
      for (const name of ["vm1.blue", "vm1.green"])
        await fixture.claimIs(name, "shown", (claim) => conditionOf(claim) === "True SuccessfulAllocation");
      const backup = await backUp(fixture);
      await fixture.kubevirt.delete(machine);
      await fixture.is(machine, "NONE", "green");
      await fixture.is(machine, "NONE");
      await fixture.killLeader();
      await bringBack(fixture, backup);
      const restored = await fixture.machine("vm1", two);
      await fixture.lead();
      for (const each of first) await until(() => fixture.held(each.split("/")[0]!), { what: `${each} to be held` });
      const wrong = await run("adopt", "shop/vm1", "--from", "00000000-0000-4000-8000-000000000000");
      expect(wrong.code).not.toBe(0);
      expect((await fixture.look(restored)).state).toBe("FOREIGN");
      expect(await run("adopt", "shop/vm1", "--from", from)).toMatchObject({ code: 0, err: "" });
      expect(await fixture.kubevirt.start(restored)).toBe(true);
      await fixture.is(restored, "BOUND", "green");
      expect(addressesOf(restored)).toEqual(first);
      expect((await run("claims", "-n", "shop")).out).toMatch(/vm1\.blue +vm1 .* bound /);
    });
  });

  it("another cluster: `holdfast claims export` there and `holdfast adopt --file` here, and the VM has its addresses", async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-stories-"));
    const file = join(folder, "claims.json");
    const given: string[] = [];
    try {
      await inCluster(async (fixture, { run }) => {
        const machine = await fixture.started("vm1", two);
        await fixture.is(machine, "BOUND", "green");
        given.push(...addressesOf(machine));
        await fixture.kubevirt.stop(machine);
        const exported = await run("claims", "export", "-n", "shop");
        expect(exported).toMatchObject({ code: 0, err: "" });
        writeFileSync(file, exported.out);
      });
      await inCluster(async (fixture, { run }) => {
        // Others are here already.
        const beside = await fixture.started("vm0");
        const machine = await fixture.machine("vm1", two);
        await fixture.is(machine, "PEND", "green");
        expect(given).not.toContain(addressesOf(beside)[0]);
        expect(await run("adopt", "--file", file)).toMatchObject({ code: 0, err: "" });
        expect(await fixture.kubevirt.start(machine)).toBe(true);
        await fixture.is(machine, "BOUND", "green");
        expect(addressesOf(machine)).toEqual(given);
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
