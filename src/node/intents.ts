// The releases still to be done, on the disk before the runtime is told of success. Not promised: that a release marked as
// done is not replayed after a crash; replaying one is harmless (intent.ts).
import type { Attachment } from "../cni/attachments.ts";
import { JournalError } from "../ledger/journal/error.ts";
import { type AttachmentKey, attachmentKey } from "./attachment.ts";
import { type Intent, type IntentRecord, joinIntents } from "./intent.ts";
import { LineFile } from "./line-file.ts";

/** A node has some hundred pods; 10,000 sandboxes torn down while the API server is away are days of crash loops, 5 MB. */
const maxPending = 10_000;

export class Intents {
  readonly #file: LineFile<IntentRecord>;
  readonly #pending: Map<AttachmentKey, Intent>;

  private constructor(file: LineFile<IntentRecord>, pending: Map<AttachmentKey, Intent>) {
    this.#file = file;
    this.#pending = pending;
  }

  static async open(folder: string): Promise<Intents> {
    const pending = new Map<AttachmentKey, Intent>();
    const file = await LineFile.open<IntentRecord>({
      folder,
      name: "releases.log",
      meet: (record) => {
        if (record.op === "add") pending.set(attachmentKey(record.intent), record.intent);
        else pending.delete(record.key as AttachmentKey);
      },
      all: () => [...pending.values()].map((intent) => ({ op: "add", intent })),
      live: () => pending.size,
    });
    return new Intents(file, pending);
  }

  get damaged(): number {
    return this.#file.damaged;
  }

  get size(): number {
    return this.#pending.size;
  }

  all(): Intent[] {
    return [...this.#pending.values()];
  }

  get(attachment: Attachment): Intent | undefined {
    return this.#pending.get(attachmentKey(attachment));
  }

  /** On the disk when it resolves. */
  async add(intent: Intent): Promise<void> {
    const key = attachmentKey(intent);
    const known = this.#pending.get(key);
    if (known === undefined && this.#pending.size >= maxPending) {
      throw new JournalError(
        "full",
        `${maxPending} releases wait in ${this.#file.path} already: bring the API server back first.`,
      );
    }
    const whole = known === undefined ? intent : joinIntents(known, intent);
    this.#pending.set(key, whole);
    await this.#append({ op: "add", intent: whole }, key, known);
  }

  async remove(attachment: Attachment): Promise<void> {
    const key = attachmentKey(attachment);
    const known = this.#pending.get(key);
    if (known === undefined) return;
    this.#pending.delete(key);
    await this.#append({ op: "done", key }, key, known);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** As it was before, where the disk does not say otherwise: a new start would go by that. */
  async #append(record: IntentRecord, key: AttachmentKey, before: Intent | undefined): Promise<void> {
    try {
      await this.#file.append(record);
    } catch (error) {
      if (before === undefined) this.#pending.delete(key);
      else this.#pending.set(key, before);
      throw error;
    }
  }
}
