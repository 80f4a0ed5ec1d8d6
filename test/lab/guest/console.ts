// A guest's serial console: everything that it says, and commands that its shell runs, one at a time.
//
// Promised: a command's output is its own, with its status, unless the kernel panics meanwhile.
// Not promised: a command that a reset cuts off never ends; its wait does, at its limit.
import type { Duplex } from "node:stream";

import { quote } from "../command.ts";
import { until } from "../wait.ts";

export interface GuestAnswer {
  readonly status: number;
  readonly output: string;
}

/** A terminal's line is cut at 4,096 bytes; what is around the command has less than a hundred. */
const longestLine = 4000;
/** A boot says 20 KiB. */
const printedLimit = 16 * 1024 * 1024;

export class GuestConsole {
  /** Since QEMU began, over all boots. */
  printed = "";
  readonly #stream: Duplex;
  readonly #signal: AbortSignal;
  #commands = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** The signal ends every wait, with its reason: QEMU has ended. */
  constructor(stream: Duplex, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    stream.on("error", () => {}); // the end of QEMU says it, too
    stream.setEncoding("utf8").on("data", (text: string) => {
      if (this.printed.length < printedLimit) this.printed += text.replaceAll("\r", "");
    });
  }

  /** Waits for a text after this place in what was printed. */
  async says(text: string, from = 0, timeoutMs?: number): Promise<void> {
    const what = `the guest to say ${JSON.stringify(text)}`;
    await this.#until(what, () => this.printed.includes(text, from) || undefined, timeoutMs);
  }

  /** By `sh -c` in the guest, after those before it. */
  run(command: string): Promise<GuestAnswer> {
    const answer = this.#last.then(() => this.#run(command));
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #run(command: string): Promise<GuestAnswer> {
    const id = ++this.#commands;
    const from = this.printed.length;
    const line = `echo begin-${id}; sh -c ${quote(command)} 2>&1 < /dev/null; echo end-${id}-$?\n`;
    if (/\n./.test(line) || line.length > longestLine) throw new RangeError(`no line for a terminal: ${command}`);
    this.#stream.write(line);
    const form = new RegExp(`begin-${id}\n(.*)end-${id}-(\\d+)\n`, "s");
    const [, output = "", status] = await this.#until(
      `the guest to run ${command}`,
      () => form.exec(this.printed.slice(from)) ?? undefined,
    );
    return { status: Number(status), output };
  }

  async #until<T>(what: string, look: () => T | undefined, timeoutMs?: number): Promise<T> {
    try {
      return await until(async () => look(), {
        what,
        signal: this.#signal,
        ...(timeoutMs !== undefined && { timeoutMs }),
      });
    } catch (cause) {
      throw new Error(`${String(cause)}\nThe guest's console:\n${this.printed.slice(-6000)}`, { cause });
    }
  }
}
