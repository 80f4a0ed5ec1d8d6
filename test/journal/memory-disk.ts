// A disk in memory that knows what a power cut may take: bytes that were not synced, and names that were not synced.
import type { JournalDisk, JournalFile } from "../../src/ledger/journal/disk.ts";
import { JournalError } from "../../src/ledger/journal/error.ts";

interface Contents {
  cached: Buffer;
  /** As of the last datasync. */
  durable: Buffer;
}

type Names = ReadonlyMap<string, Contents>;

export class MemoryDisk implements JournalDisk {
  #names = new Map<string, Contents>();
  #durableNames: Names = new Map();
  readonly #locked = new Set<string>();

  /** A disk that has this file. */
  static of(path: string, bytes: Buffer): MemoryDisk {
    const disk = new MemoryDisk();
    disk.#names.set(path, { cached: bytes, durable: bytes });
    disk.#durableNames = new Map(disk.#names);
    return disk;
  }

  /** What may be there after a power cut now: `chance` gives numbers from 0 up to 1. */
  afterPowerCut(chance: () => number): MemoryDisk {
    const disk = new MemoryDisk();
    const names: Names = chance() < 0.5 ? this.#durableNames : this.#names;
    for (const [path, { cached, durable }] of names) {
      const bytes = survivor(cached, durable, chance());
      disk.#names.set(path, { cached: bytes, durable: bytes });
    }
    disk.#durableNames = new Map(disk.#names);
    return disk;
  }

  async prepare(): Promise<void> {}

  lock(folder: string): () => void {
    if (this.#locked.has(folder)) throw new JournalError("locked", `${folder} is another's.`);
    this.#locked.add(folder);
    return () => void this.#locked.delete(folder);
  }

  async read(path: string): Promise<Buffer | undefined> {
    return this.#names.get(path)?.cached;
  }

  async open(path: string): Promise<JournalFile> {
    return fileOf(this.#names.get(path)!);
  }

  async create(path: string): Promise<JournalFile> {
    const contents = this.#names.get(path) ?? { cached: Buffer.alloc(0), durable: Buffer.alloc(0) };
    contents.cached = Buffer.alloc(0);
    this.#names.set(path, contents);
    return fileOf(contents);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#names.set(to, this.#names.get(from)!);
    this.#names.delete(from);
  }

  async remove(path: string): Promise<void> {
    this.#names.delete(path);
  }

  async syncFolder(): Promise<void> {
    this.#durableNames = new Map(this.#names);
  }
}

/** Of what was appended since the last sync, any part from the front. */
function survivor(cached: Buffer, durable: Buffer, part: number): Buffer {
  if (cached.length < durable.length) return part < 0.5 ? cached : durable;
  return cached.subarray(0, durable.length + Math.floor((cached.length - durable.length + 1) * part));
}

function fileOf(contents: Contents): JournalFile {
  return {
    append: async (bytes) => void (contents.cached = Buffer.concat([contents.cached, bytes])),
    datasync: async () => void (contents.durable = contents.cached),
    truncate: async (bytes) => void (contents.cached = contents.cached.subarray(0, bytes)),
    close: async () => {},
  };
}
