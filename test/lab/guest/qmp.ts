// QEMU's monitor (QMP, docs/interop/qmp-spec): commands and their answers.
//
// Promised: an answer belongs to its command, and a command that QEMU refuses, or does not live to answer, throws.
// Events are kept from the first one on, so that none is missed between a command and the wait for what it causes.
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";

interface Answer {
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly class: string; readonly desc: string };
}

export interface QmpEvent {
  readonly event: string;
  /** QEMU's own clock, since 1970. */
  readonly atMs: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What a line may be beside an answer; the greeting has neither. */
interface Told {
  readonly event?: string;
  readonly timestamp?: { readonly seconds: number; readonly microseconds: number };
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A migration tells some twenty. */
const eventLimit = 10_000;

class QmpError extends Error {
  override readonly name = "QmpError";
  /** QEMU's own class, `GenericError` nearly always; `Ended` where QEMU did. */
  readonly code: string;

  constructor(command: string, code: string, reason: string) {
    super(`QEMU's ${command} failed: ${reason}`);
    this.code = code;
  }
}

export class Qmp {
  readonly #stream: Duplex;
  /** Key: the command's number. */
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #events: QmpEvent[] = [];
  readonly #lookers = new Set<() => void>();
  #commands = 0;
  #isEnded = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on("error", () => {}); // its end says it, too
    const lines = createInterface({ input: stream });
    lines.on("error", () => {}); // it repeats the stream's
    lines.on("line", (line) => this.#hear(JSON.parse(line) as Answer & Told));
    stream.once("close", () => this.#end());
  }

  /** QEMU takes nothing else before `qmp_capabilities`. */
  async execute(command: string, args: object = {}): Promise<unknown> {
    const id = ++this.#commands;
    const answer = await new Promise<Answer>((resolve) => {
      if (this.#isEnded) return resolve(ended);
      this.#waiting.set(id, resolve);
      this.#stream.write(`${JSON.stringify({ execute: command, arguments: args, id })}\n`);
    });
    if (answer.error !== undefined) throw new QmpError(command, answer.error.class, answer.error.desc);
    return answer.return;
  }

  get events(): readonly QmpEvent[] {
    return this.#events;
  }

  /** The first of this name and with this status, since QEMU began, or behind the first so many of all events. */
  async event(name: string, status?: string, signal?: AbortSignal, behind = 0): Promise<QmpEvent> {
    const { promise, resolve, reject } = Promise.withResolvers<QmpEvent>();
    const look = () => {
      const found = this.#events.find(
        (each, at) => at >= behind && each.event === name && (status ?? each.data["status"]) === each.data["status"],
      );
      if (found !== undefined) resolve(found);
      else if (this.#isEnded) reject(new QmpError(`wait for ${name}`, "Ended", "QEMU has ended"));
      else if (signal?.aborted) reject(signal.reason);
    };
    this.#lookers.add(look);
    signal?.addEventListener("abort", look);
    look();
    return await promise.finally(() => {
      this.#lookers.delete(look);
      signal?.removeEventListener("abort", look);
    });
  }

  #hear(answer: Answer & Told): void {
    const { event, timestamp, data = {} } = answer;
    if (event !== undefined && timestamp !== undefined && this.#events.length < eventLimit) {
      this.#events.push({ event, atMs: timestamp.seconds * 1000 + timestamp.microseconds / 1000, data });
      for (const look of this.#lookers) look();
    }
    if (answer.id === undefined) return; // a greeting or an event
    this.#waiting.get(answer.id)?.(answer);
    this.#waiting.delete(answer.id);
  }

  #end(): void {
    this.#isEnded = true;
    for (const resolve of this.#waiting.values()) resolve(ended);
    this.#waiting.clear();
    for (const look of this.#lookers) look();
  }
}

const ended: Answer = { error: { class: "Ended", desc: "QEMU has ended" } };
