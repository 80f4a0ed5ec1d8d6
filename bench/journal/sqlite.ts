// The journal's lines in node:sqlite instead (docs/decisions/0017): one row per address, all waiting ones in one
// transaction. In this thread, or in one of its own, where this file runs as the worker.
import { DatabaseSync } from "node:sqlite";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

interface Row {
  readonly address: string;
  readonly line: string;
}

export interface Store {
  /** On the disk when it resolves. */
  put(row: Row): Promise<void>;
  close(): Promise<void>;
}

const schema = "CREATE TABLE IF NOT EXISTS lines (address TEXT PRIMARY KEY, line TEXT NOT NULL) WITHOUT ROWID";

/** What writes a batch when it is called; durable when it returns. */
function writerOf(path: string): { readonly write: (rows: readonly Row[]) => void; readonly close: () => void } {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA locking_mode = EXCLUSIVE");
  database.exec(schema);
  const insert = database.prepare("INSERT OR REPLACE INTO lines VALUES (?, ?)");
  const write = (rows: readonly Row[]) => {
    database.exec("BEGIN");
    for (const { address, line } of rows) insert.run(address, line);
    database.exec("COMMIT");
  };
  return { write, close: () => database.close() };
}

export function readAll(path: string, meet: (line: string) => void): void {
  const database = new DatabaseSync(path);
  for (const { line } of database.prepare("SELECT line FROM lines").iterate()) meet(String(line));
  database.close();
}

/** Rows that wait while a batch is written go with the next one. */
class Grouped implements Store {
  readonly #write: (rows: readonly Row[]) => Promise<void>;
  readonly #end: () => Promise<unknown>;
  #queue: { row: Row; done: () => void }[] = [];
  #running: Promise<void> | undefined;

  constructor(write: (rows: readonly Row[]) => Promise<void>, end: () => Promise<unknown>) {
    this.#write = write;
    this.#end = end;
  }

  put(row: Row): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#queue.push({ row, done: resolve });
    this.#running ??= this.#run();
    return promise;
  }

  async close(): Promise<void> {
    await this.#running;
    await this.#end();
  }

  async #run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0);
      await this.#write(batch.map(({ row }) => row));
      for (const { done } of batch) done();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#running = undefined;
  }
}

export function sqliteHere(path: string): Store {
  const { write, close } = writerOf(path);
  return new Grouped(
    async (rows) => write(rows),
    async () => close(),
  );
}

export function sqliteThread(path: string): Store {
  const worker = new Worker(import.meta.filename, { workerData: path });
  const write = (rows: readonly Row[]) =>
    new Promise<void>((resolve) => {
      worker.once("message", () => resolve());
      worker.postMessage(rows, []);
    });
  return new Grouped(write, () => worker.terminate());
}

if (!isMainThread && parentPort !== null && typeof workerData === "string") {
  const port = parentPort;
  const { write } = writerOf(workerData);
  port.on("message", (rows: readonly Row[]) => {
    write(rows);
    port.postMessage("done", []);
  });
}
