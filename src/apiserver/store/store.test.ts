import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test, vi } from "vitest";

import type { KubeObject } from "../object.ts";
import { Database } from "./database.ts";
import type { Change } from "./entry.ts";
import { Store } from "./store.ts";
import type { Transaction } from "./transaction.ts";

const place = (name: string, namespace = "default") => ({ resource: "/things", namespace, name });
const thing = (value: number): KubeObject => ({ kind: "Thing", apiVersion: "v1", metadata: {}, value });
const listed = (store: Store, namespace = "", past?: number) =>
  [
    ...store
      .collection("/things")
      .list(namespace, "", past === undefined ? undefined : store.history.rewind("/things", past)),
  ].map((entry) => `${entry.namespace}/${entry.name}=${JSON.stringify(entry.object["value"])}`);

async function inFolder(run: (path: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-store-"));
  try {
    await run(join(folder, "store.db"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("what was written is there after the file is opened again, at the same revision", () =>
  inFolder(async (path) => {
    const first = new Store(path);
    await first.write((transaction) => transaction.put(place("a"), thing(1)));
    await first.write((transaction) => transaction.put(place("b"), thing(2)));
    await first.write((transaction) => transaction.delete(place("a")));
    const { revision } = first;
    first.close();
    const second = new Store(path);
    expect(listed(second)).toEqual(["default/b=2"]);
    expect(second.revision).toBe(revision);
    expect(second.history.compacted).toBe(revision);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    second.close();
  }));

test("a second process on the file is refused, with words", () =>
  inFolder(async (path) => {
    const first = new Store(path);
    await first.write((transaction) => transaction.put(place("a"), thing(1)));
    expect(() => new Store(path)).toThrow(`${path} is served by another process.`);
    first.close();
  }));

test.each([
  ["foreign", "is not a database of this API.", (path: string) => writeFileSync(path, "a letter ".repeat(1000))],
  ["disk", "cannot be opened: unable to open database file.", (path: string) => mkdirSync(path)],
  ["layout", "has layout 0; this version reads layout 1. Use the version that wrote it.", otherLayout],
])("a file that cannot be served is told apart: %s", (code, words, prepare) =>
  inFolder(async (path) => {
    prepare(path);
    expect(() => new Store(path)).toThrow(expect.objectContaining({ code, message: `${path} ${words}` }));
  }),
);

function otherLayout(path: string): void {
  const database = new Database(path);
  database.setMeta("layout", "0");
  database.close();
}

test("an operation that throws leaves nothing, and those of the same batch are untouched", async () => {
  const store = new Store(":memory:");
  const results = await Promise.allSettled([
    store.write((transaction) => transaction.put(place("a"), thing(1))),
    store.write((transaction) => {
      transaction.put(place("b"), thing(2));
      throw new Error("changed my mind");
    }),
    store.write((transaction) => transaction.put(place("c"), thing(3))),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(listed(store)).toEqual(["default/a=1", "default/c=3"]);
  store.close();
});

test("operations of a batch see each other, readers only what is committed", async () => {
  const store = new Store(":memory:");
  const writing = store.write((transaction) => transaction.put(place("a"), thing(1)));
  const second = store.write((transaction) => transaction.get(place("a"))?.object["value"]);
  expect(store.get(place("a"))).toBeUndefined();
  await writing;
  expect(await second).toBe(1);
  expect(store.get(place("a"))?.object["value"]).toBe(1);
  store.close();
});

test("when a commit fails, the whole of its batch fails with it, refusals too, and the next batch starts from before", async () => {
  const store = new Store(":memory:");
  const commit = vi.spyOn(Database.prototype, "commit").mockImplementationOnce(() => {
    throw new Error("the disk is full");
  });
  try {
    const refuseIfThere = (transaction: Transaction) => {
      if (transaction.get(place("a")) !== undefined) throw new Error("a is there already");
      return transaction.put(place("a"), thing(2));
    };
    const batch = [store.write((transaction) => transaction.put(place("a"), thing(1))), store.write(refuseIfThere)];
    const results = await Promise.allSettled(batch);
    expect(results.map((result) => (result.status === "rejected" ? String(result.reason) : "done"))).toEqual([
      "Error: the disk is full",
      "Error: the disk is full",
    ]);
    expect(store.get(place("a"))).toBeUndefined();
    await store.write(refuseIfThere);
    expect(store.get(place("a"))?.object["value"]).toBe(2);
  } finally {
    commit.mockRestore();
    store.close();
  }
});

test("subscribers hear every change once, in order of revision", async () => {
  const store = new Store(":memory:");
  const heard: Change[] = [];
  store.subscribe((changes) => heard.push(...changes));
  await Promise.all([1, 2, 3].map((value) => store.write((transaction) => transaction.put(place("a"), thing(value)))));
  await store.write((transaction) => transaction.delete(place("a")));
  expect(heard.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "MODIFIED", "DELETED"]);
  expect(heard.map(({ revision }) => revision)).toEqual([2, 3, 4, 5]);
  expect(heard[3]!.entry.object.metadata.resourceVersion).toBe("5");
  store.close();
});

test("a subscriber that throws fails neither the write nor other subscribers", async () => {
  const store = new Store(":memory:");
  const heard: Change[] = [];
  const warned = once(process, "warning");
  store.subscribe(() => {
    throw new Error("I cannot hear this");
  });
  store.subscribe((changes) => heard.push(...changes));
  await store.write((transaction) => transaction.put(place("a"), thing(1)));
  expect(heard).toHaveLength(1);
  expect(await warned).toMatchObject([{ message: "I cannot hear this" }]);
  store.close();
});

test("a rehearsal keeps nothing", () => {
  const store = new Store(":memory:");
  const entry = store.rehearse((transaction) => transaction.put(place("a"), thing(1)));
  expect(entry.object["value"]).toBe(1);
  expect(store.get(place("a"))).toBeUndefined();
  store.close();
});

test("lists are ordered by namespace and name, and can be of an earlier revision", async () => {
  const store = new Store(":memory:");
  for (const [namespace, name] of [
    ["b", "x"],
    ["a", "z"],
    ["a", "y"],
    ["a-b", "w"],
  ] as const) {
    await store.write((transaction) => transaction.put(place(name, namespace), thing(1)));
  }
  const then = store.revision;
  await store.write((transaction) => transaction.put(place("y", "a"), thing(2)));
  await store.write((transaction) => transaction.delete(place("z", "a")));
  await store.write((transaction) => transaction.put(place("new", "a"), thing(3)));
  expect(listed(store)).toEqual(["a-b/w=1", "a/new=3", "a/y=2", "b/x=1"]);
  expect(listed(store, undefined, then)).toEqual(["a-b/w=1", "a/y=1", "a/z=1", "b/x=1"]);
  expect(listed(store, "a", then)).toEqual(["a/y=1", "a/z=1"]);
  store.close();
});

test("history is bounded by changes and by bytes", async () => {
  const byCount = new Store(":memory:", { changes: 3, bytes: 1e9 });
  for (let value = 0; value < 10; value++)
    await byCount.write((transaction) => transaction.put(place("a"), thing(value)));
  expect([...byCount.history.since(byCount.history.compacted)]).toHaveLength(3);
  expect(byCount.history.compacted).toBe(byCount.revision - 3);
  byCount.close();
  const byBytes = new Store(":memory:", { changes: 1000, bytes: 200 });
  for (let value = 0; value < 10; value++)
    await byBytes.write((transaction) => transaction.put(place("a"), thing(value)));
  expect([...byBytes.history.since(byBytes.history.compacted)].length).toBeLessThan(5);
  byBytes.close();
});

test("an object above 1.5 MiB is refused as etcd refuses it", async () => {
  const store = new Store(":memory:");
  const large = { ...thing(1), text: "x".repeat(1.6 * 1024 * 1024) };
  await expect(store.write((transaction) => transaction.put(place("a"), large))).rejects.toThrow(
    "request is too large",
  );
  store.close();
});

test("a closed store refuses writes, with words", async () => {
  const store = new Store(":memory:");
  store.close();
  await expect(store.write(() => 1)).rejects.toThrow("the API is closed");
});
