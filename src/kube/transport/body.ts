// Reading response bodies: under a signal, and never more than a limit.
import { orAborted } from "../abort.ts";

/** etcd's default limit is 1.5 MiB per object, its JSON up to 3 times that; doubled for raised limits, rounded up. */
const maxObjectBytes = 16 * 1024 * 1024;

export class TooLargeError extends RangeError {
  readonly code = "too-large";
  override readonly name = "TooLargeError";
}

/** The chunks of a body; ends with the signal's reason even if the body itself does not heed the signal. */
export async function* chunks(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await orAborted(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a body that hangs would hang here too, and its request's signal ends it.
    iterator.return?.()?.then(undefined, () => {});
  }
}

export async function readText(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  limit = maxObjectBytes,
): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks(body, signal)) {
    size += chunk.length;
    if (size > limit) throw new TooLargeError(`The answer is larger than ${limit} bytes.`);
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Lines of text as they arrive, without their ends; the last may be cut short and is left out. */
export async function* lines(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
  limit = maxObjectBytes,
): AsyncGenerator<string> {
  let partial: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks(body, signal)) {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      partial.push(chunk.subarray(start, end));
      const line = Buffer.concat(partial).toString("utf8");
      partial = [];
      size = 0;
      start = end + 1;
      yield line;
    }
    size += chunk.length - start;
    if (size > limit) throw new TooLargeError(`A line is larger than ${limit} bytes.`);
    if (start < chunk.length) partial.push(chunk.subarray(start));
  }
}
