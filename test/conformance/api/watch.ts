// A watch as the cases use it: events one by one in the order of the wire, each wait bounded by the client's deadline.
import type { ApiResponse } from "../../../src/kube/transport/transport.ts";
import type { KubeObject, Status } from "./object.ts";

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: KubeObject;
}

/** One event is at most an object of some MiB; the suite's largest is far below. */
const lineLimitChars = 8 * 1024 * 1024;

export class Watch {
  readonly headers: Readonly<Record<string, string>>;
  readonly #lines: AsyncGenerator<string, void>;
  readonly #stop: AbortController;

  constructor(response: ApiResponse, stop: AbortController) {
    this.headers = response.headers;
    this.#lines = lines(response.body);
    this.#stop = stop;
  }

  /** The next event, or undefined when the server has ended the watch. */
  async next(): Promise<WatchEvent | undefined> {
    const { value, done } = await this.#lines.next();
    return done === true ? undefined : (JSON.parse(value) as WatchEvent);
  }

  /** The next event that is no bookmark; the end of the watch is a failure. */
  async event(): Promise<WatchEvent> {
    for (;;) {
      const event = await this.next();
      if (event === undefined) throw new Error("The watch ended before the event that the case waits for.");
      if (event.type !== "BOOKMARK") return event;
    }
  }

  /** As many events that are no bookmarks. */
  async take(count: number): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    while (events.length < count) events.push(await this.event());
    return events;
  }

  /** All that comes until the server ends the watch. */
  async rest(): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) events.push(event);
    return events;
  }

  /** The Status that an ERROR event carries; any other event is a failure. */
  async error(): Promise<Status> {
    const event = await this.event();
    if (event.type !== "ERROR") throw new Error(`The watch sent ${event.type}, not ERROR.`);
    return event.object as unknown as Status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    // The generator may be waiting for a chunk; aborting ends that wait, and its error is of no interest any more.
    await this.#lines.return().catch(() => {});
  }
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const parts = rest.split("\n");
    rest = parts.pop() ?? "";
    if (rest.length > lineLimitChars) throw new Error(`A watch event is longer than ${lineLimitChars} characters.`);
    for (const part of parts) if (part.trim() !== "") yield part;
  }
  if (rest.trim() !== "") yield rest;
}
