// QEMU's monitor (QMP, docs/interop/qmp-spec): commands and their answers.
//
// Promised: an answer belongs to its command, and a command that QEMU refuses, or does not live to answer, throws.
// Not promised: events. They are passed over; what is to happen is asked for (`query-status`).
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";

interface Answer {
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly class: string; readonly desc: string };
}

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
  #commands = 0;
  #isEnded = false;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on("error", () => {}); // its end says it, too
    createInterface({ input: stream }).on("line", (line) => this.#hear(JSON.parse(line) as Answer));
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

  #hear(answer: Answer): void {
    if (answer.id === undefined) return; // a greeting or an event
    this.#waiting.get(answer.id)?.(answer);
    this.#waiting.delete(answer.id);
  }

  #end(): void {
    this.#isEnded = true;
    for (const resolve of this.#waiting.values()) resolve(ended);
    this.#waiting.clear();
  }
}

const ended: Answer = { error: { class: "Ended", desc: "QEMU has ended" } };
