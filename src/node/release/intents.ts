// The releases still to be done, on the disk before the runtime is told of success. An intent covers all holds of one
// sandbox on one interface; it frees only those of that container id, so a late replay frees nothing of a later
// sandbox. Not promised: that a release marked as done is not replayed after a crash; replaying one is harmless.
import type { Attachment } from "../../cni/attachments.ts";
import type { Domain } from "../../ipam/ledger.ts";
import type { PodOwner } from "../../ipam/owner.ts";
import { JournalError } from "../../ledger/journal/error.ts";
import { LineFile } from "../holds/line-file.ts";
import { type AttachmentKey, attachmentKey } from "../request/attachment.ts";

/** Where a hold of unknown outcome may have been written. */
export interface IntentTarget {
  readonly namespace: string;
  readonly domain: Domain;
  readonly owner: PodOwner;
}

/** A pool in which an older system may have recorded the sandbox. */
export interface IntentPool {
  /** As known at the DEL; a release goes by what is known then. */
  readonly namespace: string;
  readonly network: string;
  /** CIDR. */
  readonly range: string;
  readonly naming: string;
  readonly protectsOverlaps: boolean;
}

export interface Intent extends Attachment {
  readonly targets: readonly IntentTarget[];
  readonly pools: readonly IntentPool[];
  readonly cooldownMs: number;
  readonly sinceMs: number;
}

type IntentRecord = { readonly op: "add"; readonly intent: Intent } | { readonly op: "done"; readonly key: string };

export function joinIntents(a: Intent, b: Intent): Intent {
  const join = <T>(...some: readonly T[]) => [...new Map(some.map((each) => [JSON.stringify(each), each])).values()];
  return {
    ...a,
    targets: join(...a.targets, ...b.targets),
    pools: join(...a.pools, ...b.pools),
    cooldownMs: b.cooldownMs,
  };
}

/** A node has some hundred pods; 10,000 sandboxes torn down without an API server are days of crash loops, 5 MB. */
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
    const full = `${maxPending} releases wait in ${this.#file.path} already: bring the API server back first.`;
    if (known === undefined && this.#pending.size >= maxPending) throw new JournalError("full", full);
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

  /** On failure memory returns to `before`: a restart would go by the disk. */
  #append(record: IntentRecord, key: AttachmentKey, before: Intent | undefined): Promise<void> {
    return this.#file.append(record, () => {
      if (before === undefined) this.#pending.delete(key);
      else this.#pending.set(key, before);
    });
  }
}
