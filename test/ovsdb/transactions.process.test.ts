// Transactions against Debian's ovsdb-server: what each refusal is called, and that a lost reply makes no second row.
import { randomUUID } from "node:crypto";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { absent, unchanged } from "../../src/ovsdb/operations/guard.ts";
import { abort, assertLock, comment, named } from "../../src/ovsdb/operations/operation.ts";
import { takesChosenUuids, writeOnce } from "../../src/ovsdb/operations/write-once.ts";
import { openVSwitch } from "../../src/ovsdb/schema/open-vswitch.ts";
import { ovnNorthbound } from "../../src/ovsdb/schema/ovn-northbound.ts";
import { OvsdbClient } from "../../src/ovsdb/session/client.ts";
import { cached, dumped, makeSwitch, nb, runClient, type RunningClient, switches } from "./fixture.ts";
import { meddlingDial } from "./meddling.ts";
import { OvsdbServer } from "./ovsdb-server.ts";

let server: OvsdbServer;
let running: RunningClient;
beforeAll(async () => {
  server = await OvsdbServer.alone();
  await server.start();
  running = await runClient({ endpoints: server.unix });
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await server.dispose();
});

const signal = () => AbortSignal.timeout(60_000);
const port = (name: string) => [
  nb.insert("Logical_Switch_Port", { name }, { named: "port" }),
  nb.insert("Logical_Switch", { name: `of-${name}`, ports: [named("port")] }),
];

describe("a refusal", () => {
  it.each([
    ["constraint-violation", port("twice"), undefined],
    ["transaction-aborted", [nb.insert("Logical_Switch", { name: "never" }), abort], 1],
    ["not-permitted", [assertLock("nobody_has_it")], 0],
    ["wait-timed-out", [absent(ovnNorthbound, "Logical_Switch", { name: "of-twice" }).wait], 0],
    ["referential-integrity", [nb.insert("Logical_Switch", { name: "dangling", ports: [randomUUID()] })], undefined],
  ])("%s is told by its code and its operation, and nothing happens", async (code, operations, operation) => {
    if (code === "constraint-violation") await running.client.transact(port("twice"));
    const before = await dumped(server);
    await expect(running.client.transact(operations)).rejects.toMatchObject({ code, operation });
    expect(await dumped(server)).toEqual(before);
  });

  it("of another database's columns names every one that is missing", async () => {
    const stop = new AbortController();
    const errors: Error[] = [];
    const client = new OvsdbClient({
      database: { ...openVSwitch, name: "OVN_Northbound" },
      followed: [{ ...switches, table: "Bridge", shape: openVSwitch.tables.Bridge }],
      endpoints: server.unix,
      onError: (error) => {
        errors.push(error);
        stop.abort();
      },
    });
    await client.run(stop.signal);
    expect(errors[0]).toMatchObject({ code: "schema-mismatch", message: expect.stringContaining("table Bridge") });
  });
});

describe("guards", () => {
  it("an optimistic one refuses what was read too long ago", async () => {
    const { client } = running;
    await makeSwitch(client, "read", signal());
    const guard = unchanged(ovnNorthbound, "Logical_Switch", [["name", "==", "read"]], { external_ids: {} });
    const write = nb.update("Logical_Switch", [["name", "==", "read"]], { external_ids: { by: "us" } });
    expect(await writeOnce(client, [guard], [write, comment("ours")], signal())).toMatchObject({ outcome: "written" });
    expect(await writeOnce(client, [guard], [write], signal())).toMatchObject({ outcome: "refused-by-guard" });
  });

  it("Debian's server takes uuids that we choose", async () => {
    const insert = nb.insert("Logical_Switch", { name: "probe" }, { uuid: randomUUID() });
    expect(await takesChosenUuids(running.client, insert, signal())).toBe(true);
    expect(running.client.rows(switches).by("name", "probe")).toEqual([]);
  });
});

describe("a lost reply", () => {
  it.each(["before the server has it", "after the server has done it"])("%s makes the row once", async (when) => {
    let cuts = 0;
    let transactId: unknown;
    const cutOnce = (isIt: boolean) => (isIt && cuts++ === 0 ? "cut" : "pass");
    const dial = meddlingDial({
      sent: ({ method, id }) => {
        if (method === "transact") transactId ??= id;
        return cutOnce(when.startsWith("before") && method === "transact");
      },
      received: ({ method, id }) =>
        cutOnce(when.startsWith("after") && method === undefined && transactId !== undefined && id === transactId),
    });
    await using meddled = await runClient({ endpoints: server.unix, dial });
    const outcome = await makeSwitch(meddled.client, when, signal());
    expect(cuts).toBeGreaterThan(0);
    expect(outcome).toMatchObject(
      when.startsWith("before") ? { outcome: "written" } : { outcome: "refused-by-guard", isRepeat: true },
    );
    expect(meddled.client.rows(switches).by("name", when)).toHaveLength(1);
  });

  it("without a guard is told as not known", async () => {
    const dial = meddlingDial({ sent: ({ method }) => (method === "transact" ? "cut" : "pass") });
    await using meddled = await runClient({ endpoints: server.unix, dial });
    const write = meddled.client.transact([nb.insert("Logical_Switch", { name: "unguarded" })]);
    await expect(write).rejects.toMatchObject({ code: "outcome-unknown" });
  });
});

describe("a server that is killed while it is written to", () => {
  it("has every switch once in the end, and the cache is what ovsdb-client dumps", async () => {
    const { client } = running;
    const names = Array.from({ length: 120 }, (_, at) => `killed-${at}`);
    const writers = [0, 1, 2, 3].map(async (writer) => {
      for (const name of names.filter((_, at) => at % 4 === writer)) await makeSwitch(client, name, signal());
    });
    for (let kill = 0; kill < 4; kill++) {
      await client.until(() => client.rows(switches).by("name", `killed-${20 * kill + 8}`)[0], signal());
      await server.kill();
      await server.start();
    }
    await Promise.all(writers);
    for (const name of names) expect(client.rows(switches).by("name", name)).toHaveLength(1);
    expect(cached(client)).toEqual(await dumped(server));
  });
});
