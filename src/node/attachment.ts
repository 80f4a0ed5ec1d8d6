// One interface of one container, and the work that is under way for it.
//
// Promised: ADD, DEL and CHECK of one attachment go one after another, in the order in which they came. A DEL calls off the
// ADD before it: nobody waits for that answer any more. Not promised: order between attachments.
import type { Attachment } from "../cni/attachments.ts";
import { orAborted } from "../kube/abort.ts";

/** Neither part can contain a "/": both were checked when the request was read. */
export type AttachmentKey = string & { readonly brand: "AttachmentKey" };

export function attachmentKey({ containerId, interfaceName }: Attachment): AttachmentKey {
  return `${containerId}/${interfaceName}` as AttachmentKey;
}

interface Queue {
  /** The end of what was asked for last. */
  tail: Promise<void>;
  waiting: number;
  /** ADDs that run or wait. */
  readonly adds: Set<AbortController>;
}

export class Attachments {
  /** An attachment that nobody works for has no entry. */
  readonly #queues = new Map<AttachmentKey, Queue>();

  isBusy(attachment: Attachment): boolean {
    return this.#queues.has(attachmentKey(attachment));
  }

  async add<T>(attachment: Attachment, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const own = new AbortController();
    return this.#inTurn(attachment, signal, own, async () => {
      own.signal.throwIfAborted();
      return work(AbortSignal.any([signal, own.signal]));
    });
  }

  async delete<T>(attachment: Attachment, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const reason = new Error(`the attachment ${attachmentKey(attachment)} is being deleted; ask for a new one.`);
    for (const add of this.#queues.get(attachmentKey(attachment))?.adds ?? []) add.abort(reason);
    return this.#inTurn(attachment, signal, undefined, work);
  }

  async check<T>(attachment: Attachment, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#inTurn(attachment, signal, undefined, work);
  }

  async #inTurn<T>(
    attachment: Attachment,
    signal: AbortSignal,
    add: AbortController | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const key = attachmentKey(attachment);
    const queue = this.#queues.get(key) ?? { tail: Promise.resolve(), waiting: 0, adds: new Set() };
    this.#queues.set(key, queue);
    const before = queue.tail;
    const turn = Promise.withResolvers<void>();
    // Who is called off while waiting leaves the queue, and those behind still wait for those before.
    queue.tail = before.then(() => turn.promise);
    queue.waiting += 1;
    if (add !== undefined) queue.adds.add(add);
    try {
      await orAborted(before, signal);
      return await work();
    } finally {
      turn.resolve();
      queue.waiting -= 1;
      if (add !== undefined) queue.adds.delete(add);
      if (queue.waiting === 0) this.#queues.delete(key);
    }
  }
}
