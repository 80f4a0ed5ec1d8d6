// What was attached to a sandbox, on disk: written before each ADD, so that DEL finds everything without the API server.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Attachment } from "./configuration.ts";
import type { CniResult } from "./status.ts";

export interface Attached {
  readonly attachment: Attachment;
  /** Missing when the ADD did not end well: its DEL is owed all the same. */
  readonly result?: CniResult;
}

const folder = "/var/lib/cni/lab-networks";

export class AttachmentRecord {
  readonly #file: string;

  constructor(containerId: string, interfaceName: string, root: string = folder) {
    mkdirSync(root, { recursive: true });
    this.#file = join(root, `${containerId}-${interfaceName}.json`);
  }

  /** In the order in which they were attached; empty when nothing is known. */
  read(): Attached[] {
    try {
      return JSON.parse(readFileSync(this.#file, "utf8")) as Attached[];
    } catch {
      return [];
    }
  }

  write(attached: readonly Attached[]): void {
    writeFileSync(`${this.#file}.new`, JSON.stringify(attached));
    renameSync(`${this.#file}.new`, this.#file);
  }

  remove(): void {
    rmSync(this.#file, { force: true });
  }
}
