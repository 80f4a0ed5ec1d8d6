// The cache against Debian's ovsdb-server: by every way of following that there is, it is what ovsdb-client dumps.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Batch } from "../../src/ovsdb/cache/batch.ts";
import type { Operation } from "../../src/ovsdb/operations/operation.ts";
import { named } from "../../src/ovsdb/operations/operation.ts";
import { cached, dumped, global, makeSwitch, nb, ports, runClient, switches } from "./fixture.ts";
import { meddlingDial } from "./meddling.ts";
import { OvsdbServer } from "./ovsdb-server.ts";

let server: OvsdbServer;
beforeAll(async () => {
  server = await OvsdbServer.alone();
  await server.start();
  await server.transact([{ op: "insert", table: "NB_Global", row: {} }]);
});
afterAll(async () => await server.dispose());

const signal = () => AbortSignal.timeout(60_000);

/** Strings that hurt: several bytes, quotes, braces, keys of JavaScript's own. */
const word = fc.constantFrom("a", "b", 'q"{}\\', "ä€😀", "__proto__", "constructor", "x".repeat(70_000));

const change: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .record({ name: word, key: word })
    .map(({ name, key }) =>
      nb.mutate("Logical_Switch", [["name", "==", "random"]], [["external_ids", "insert", new Map([[key, name]])]]),
    ),
  word.map((key) => nb.mutate("Logical_Switch", [["name", "==", "random"]], [["external_ids", "delete", [key]]])),
  fc.array(word).map((list) => nb.update("Logical_Switch_Port", [["name", "==", "p"]], { addresses: list })),
  word.map((text) => nb.mutate("Logical_Switch_Port", [["name", "==", "p"]], [["addresses", "delete", [text]]])),
  fc
    .option(fc.nat(4000), { nil: undefined })
    .map((tag) => nb.update("Logical_Switch_Port", [["name", "==", "p"]], { tag: tag === undefined ? tag : tag + 1 })),
  fc.boolean().map((enabled) => nb.update("Logical_Switch_Port", [["name", "==", "p"]], { enabled })),
  fc.nat().map((by) => nb.mutate("NB_Global", [], [["nb_cfg", "+=", by % 1000]])),
);

describe.each([
  ["monitor_cond_since", []],
  ["monitor_cond", ["monitor_cond_since"]],
  ["monitor", ["monitor_cond_since", "monitor_cond"]],
])("a server that knows %s", (method, unknown) => {
  it("is followed: the cache is what ovsdb-client dumps, also of strings that hurt", async () => {
    const used: string[] = [];
    const dial = meddlingDial({
      sent: ({ method: asked = "" }) => {
        if (unknown.includes(asked)) return { refuse: "unknown method" };
        if (asked.startsWith("monitor")) used.push(asked);
        return "pass";
      },
    });
    await using running = await runClient({ endpoints: server.unix, dial });
    const { client } = running;
    expect(new Set(used)).toEqual(new Set([method]));
    const port = nb.insert("Logical_Switch_Port", { name: "p" }, { named: "port" });
    const made = nb.insert("Logical_Switch", { name: "random", ports: [named("port")] });
    await client.transact([port, made]);
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (operations) => {
        await client.transact(operations);
      }),
      { numRuns: 40 },
    );
    expect(cached(client)).toEqual(await dumped(server));
    await client.transact([nb.delete("Logical_Switch", [["name", "==", "random"]])]);
    expect(cached(client)).toEqual(await dumped(server));
    expect(client.rows(ports).size).toBe(0);
    expect(running.errors).toEqual([]);
  });
});

describe("a transaction", () => {
  it("is in the cache, whole and indexed, before its reply is", async () => {
    await using running = await runClient({ endpoints: server.unix });
    const { client } = running;
    const batches: Batch[] = [];
    client.handle((batch) => batches.push(batch));
    for (let at = 0; at < 50; at++) {
      const port = { name: `port-${at}`, external_ids: { vm: `vm-${at}` } };
      await client.transact([
        nb.insert("Logical_Switch_Port", port, { named: "port" }),
        nb.insert("Logical_Switch", { name: `switch-${at}`, ports: [named("port")] }),
      ]);
      const [row] = client.rows(ports).by("vm", `vm-${at}`);
      expect(row?.name).toBe(`port-${at}`);
      expect(client.rows(switches).by("name", `switch-${at}`)[0]?.ports).toEqual(new Set([row!.uuid]));
    }
    expect(batches.map((batch) => [batch.of(ports).length, batch.of(switches).length])).toEqual(
      Array.from({ length: 50 }, () => [1, 1]),
    );
    await client.transact([nb.delete("Logical_Switch", [["name", "!=", "keep"]])]);
    expect(client.rows(ports).size).toBe(0);
    expect(batches.at(-1)!.changes).toHaveLength(100);
  });

  it("can be waited for, when it is another's", async () => {
    await using running = await runClient({ endpoints: server.unix });
    await using other = await runClient({ endpoints: server.unix });
    const { client } = running;
    const before = [...client.rows(global).list()][0]!.nb_cfg;
    const barrier = client.until(() => [...client.rows(global).list()].find(({ nb_cfg }) => nb_cfg > before), signal());
    await other.client.transact([nb.mutate("NB_Global", [], [["nb_cfg", "+=", 1]])]);
    expect((await barrier).nb_cfg).toBe(before + 1);
  });
});

describe("a server that is killed", () => {
  it("is followed again: rows that did not change stay the same objects, what was missed is one batch", async () => {
    await using running = await runClient({ endpoints: server.unix });
    const { client } = running;
    await makeSwitch(client, "stays", signal());
    await makeSwitch(client, "goes", signal());
    const [stays] = client.rows(switches).by("name", "stays");
    const batches: Batch[] = [];
    client.handle((batch) => batches.push(batch));
    await server.kill();
    await expect.poll(() => client.status.kind).toBe("disconnected");
    expect(client.rows(switches).by("name", "goes")).toHaveLength(1); // old, but whole
    await server.transact([
      nb.delete("Logical_Switch", [["name", "==", "goes"]]),
      nb.insert("Logical_Switch", { name: "comes" }),
    ]);
    await server.start();
    await client.until(() => client.status.kind === "connected" || undefined, signal());
    expect(client.rows(switches).by("name", "stays")[0]).toBe(stays);
    expect(batches.map(({ kind }) => kind)).toEqual(["resync"]);
    const told = batches[0]!.of(switches).map(({ before, after }) => [before?.name, after?.name]);
    expect(told).toEqual(
      expect.arrayContaining([
        ["goes", undefined],
        [undefined, "comes"],
      ]),
    );
    expect(batches[0]!.changes).toHaveLength(2);
    expect(cached(client)).toEqual(await dumped(server));
  });
});
