// One interface of one container, and its work under way. Promised: its ADD, DEL and CHECK go one after another, in the
// order in which they came, and a DEL calls off the ADD before it. Not promised: order between attachments.
import type { Attachment } from "../../cni/attachments.ts";
import { Turns } from "../../ipam/turns.ts";
import { MultiMap } from "../../kube/cache/multi-map.ts";

/** Neither part can contain a "/": both were checked when the request was read. */
export type AttachmentKey = string & { readonly brand: "AttachmentKey" };

export function attachmentKey({ containerId, interfaceName }: Attachment): AttachmentKey {
  return `${containerId}/${interfaceName}` as AttachmentKey;
}

export class Attachments {
  readonly #turns = new Turns();
  readonly #adds = new MultiMap<AbortController>();

  isBusy(attachment: Attachment): boolean {
    return this.#turns.isBusy(attachmentKey(attachment));
  }

  async add<T>(attachment: Attachment, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const key = attachmentKey(attachment);
    const own = new AbortController();
    this.#adds.add(key, own);
    try {
      return await this.#turns.run(key, AbortSignal.any([signal, own.signal]), work);
    } finally {
      this.#adds.delete(key, own);
    }
  }

  delete<T>(attachment: Attachment, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const key = attachmentKey(attachment);
    const reason = new Error(`the attachment ${key} is being deleted; ask for a new one.`);
    for (const add of this.#adds.get(key)) add.abort(reason);
    return this.#turns.run(key, signal, work);
  }

  check<T>(attachment: Attachment, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(attachmentKey(attachment), signal, work);
  }
}
