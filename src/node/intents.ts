// The releases still to be done, on the disk before the runtime is told of success.
//
// Not promised: that a release marked as done is not replayed after a crash; replaying one is harmless (intent.ts).
import type { Attachment } from "../cni/attachments.ts";
import { type AttachmentKey, attachmentKey } from "./attachment.ts";
import { type Intent, type IntentRecord, joinIntents } from "./intent.ts";
import { LineFile, StateFileError } from "./line-file.ts";

/** A node has some hundred pods; 10,000 sandboxes torn down while the API server is away are days of crash loops, 5 MB. */
const maxPending = 10_000;

export class Intents {
  readonly #file: LineFile<IntentRecord>;
  readonly #pending = new Map<AttachmentKey, Intent>();

  private constructor(file: LineFile<IntentRecord>, records: readonly IntentRecord[]) {
    this.#file = file;
    for (const record of records) {
      if (record.op === "add") this.#pending.set(attachmentKey(record.intent), record.intent);
      else this.#pending.delete(record.key as AttachmentKey);
    }
  }

  static async open(folder: string): Promise<Intents> {
    const { file, records } = await LineFile.open<IntentRecord>({ folder, name: "releases.log", sync: true });
    return new Intents(file, records);
  }

  /** Lines that could not be read when the file was opened. */
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
      throw new StateFileError(
        "full",
        `${maxPending} releases wait in ${this.#file.path} already: bring the API server back first.`,
      );
    }
    const whole = known === undefined ? intent : joinIntents(known, intent);
    await this.#file.append({ op: "add", intent: whole });
    this.#pending.set(key, whole);
  }

  /** Done, or no longer wanted. */
  async remove(attachment: Attachment): Promise<void> {
    const key = attachmentKey(attachment);
    if (!this.#pending.has(key)) return;
    // In force until the disk says otherwise: a new start would do it.
    await this.#file.append({ op: "done", key });
    this.#pending.delete(key);
    await this.#file.shrink(this.#pending.size, () => this.all().map((intent) => ({ op: "add", intent })));
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
