// The sandboxes that were given a claim's addresses: one small file for each, written before the runtime has its answer.
//
// Promised: what `add` has answered for survives every end of the daemon. Not flushed to the disk: what a power cut takes away of it are sandboxes that it
// took away as well, and an ADD does not wait for a disk. A file that cannot be read is removed: nothing can be done for it.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Attachment } from "../../cni/attachments.ts";
import { type AttachmentKey, attachmentKey } from "../attachment.ts";
import { decodeSandbox, encodeSandbox, type KnownSandbox } from "./fence-sandbox.ts";

/** A node of 500 pods with 8 networks each; more are leftovers of a disk that was cloned. At 1 KB each: 4 MB. */
const maxSandboxes = 4096;
const suffix = ".json";

export class SandboxesError extends Error {
  readonly code: "full" | "disk";

  constructor(code: SandboxesError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SandboxesError";
    this.code = code;
  }
}

export class Sandboxes {
  readonly #folder: string;
  readonly #known: Map<AttachmentKey, KnownSandbox>;
  /** Files that could not be read when the folder was opened, and are removed. */
  readonly damaged: number;

  private constructor(folder: string, known: Map<AttachmentKey, KnownSandbox>, damaged: number) {
    this.#folder = folder;
    this.#known = known;
    this.damaged = damaged;
  }

  /** `state`: the daemon's own folder. */
  static async open(state: string): Promise<Sandboxes> {
    const folder = join(state, "sandboxes");
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const known = new Map<AttachmentKey, KnownSandbox>();
      let damaged = 0;
      for (const name of await readdir(folder)) {
        const path = join(folder, name);
        const sandbox = name.endsWith(suffix) ? decodeSandbox(await readFile(path, "utf8")) : undefined;
        // A name that is none of ours belongs to a write that did not end.
        if (sandbox !== undefined && known.size < maxSandboxes) known.set(attachmentKey(sandbox), sandbox);
        else {
          await rm(path, { force: true, recursive: true });
          if (name.endsWith(suffix)) damaged += 1;
        }
      }
      return new Sandboxes(folder, known, damaged);
    } catch (cause) {
      throw diskError(folder, cause);
    }
  }

  all(): KnownSandbox[] {
    return [...this.#known.values()];
  }

  get(attachment: Attachment): KnownSandbox | undefined {
    return this.#known.get(attachmentKey(attachment));
  }

  /** Whoever opens the folder later has it. */
  async add(sandbox: KnownSandbox): Promise<void> {
    const key = attachmentKey(sandbox);
    if (!this.#known.has(key) && this.#known.size >= maxSandboxes) {
      throw new SandboxesError(
        "full",
        `${this.#folder} has ${maxSandboxes} sandboxes already, which no node runs: look why none of them ends.`,
      );
    }
    try {
      await this.#write(this.#pathOf(key), encodeSandbox(sandbox));
    } catch (cause) {
      throw diskError(this.#folder, cause);
    }
    this.#known.set(key, sandbox);
  }

  async remove(attachment: Attachment): Promise<void> {
    const key = attachmentKey(attachment);
    if (!this.#known.delete(key)) return;
    try {
      await rm(this.#pathOf(key), { force: true });
    } catch (cause) {
      throw diskError(this.#folder, cause);
    }
  }

  /** A hash, so that no container's id can name another file. */
  #pathOf(key: AttachmentKey): string {
    return join(this.#folder, `${createHash("sha256").update(key).digest("hex").slice(0, 32)}${suffix}`);
  }

  /** Whole or not at all: a new file beside the old takes its name. */
  async #write(path: string, text: string): Promise<void> {
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
}

function diskError(folder: string, cause: unknown): SandboxesError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SandboxesError("disk", `${folder} cannot be used: ${reason}. Free the disk, or give another --state.`, {
    cause,
  });
}
