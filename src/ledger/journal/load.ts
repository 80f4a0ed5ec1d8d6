import { JournalError } from "./error.ts";
import { type Frame, scan } from "./frame.ts";
// A journal's file read back: what it says, what of it is torn, and whether something that was answered may be missing.
//
// A torn end was never answered and is cut. Damage elsewhere is counted; all that can be read is kept; and the journal is in doubt from
// there on, since a take that cannot be read any more may be a running pod's.
import { foreignFormat, decodeRecord, type HeadRecord, type Intern } from "./record.ts";
import type { State } from "./state.ts";

export interface Loaded {
  /** Undefined: it cannot be read any more. */
  readonly id: string | undefined;
  readonly lines: number;
  readonly next: number;
  readonly keepBytes: number;
  readonly damaged: number;
  /** As of HeadRecord. */
  readonly doubt: number;
}

export function load(path: string, bytes: Buffer, state: State): Loaded {
  const reader = new Reader(path, state);
  const keepBytes = scan(bytes, (frame) => reader.meet(frame));
  return { ...reader.end(), keepBytes };
}

class Reader {
  readonly #path: string;
  readonly #state: State;
  readonly #intern = interning();
  #head: HeadRecord | undefined;
  #lines = 0;
  #damaged = 0;
  #doubt = 0;
  /** Undefined: any. */
  #expected: number | undefined = 0;
  #isSnapshot = true;

  constructor(path: string, state: State) {
    this.#path = path;
    this.#state = state;
  }

  meet({ sequence, payload, at }: Frame): void {
    this.#lines += 1;
    if (sequence < 0) return this.#damage();
    const isExpected = this.#expected === undefined || sequence === this.#expected;
    const record = payload === undefined ? undefined : decodeRecord(payload, this.#intern);
    if (payload !== undefined && at === 0) this.#refuseForeign(payload);
    // One that is damaged and one that is missing are one doubt.
    if (!isExpected || record === undefined) this.#damage();
    if (record?.op === "head") {
      this.#head = record;
      this.#doubt = Math.max(this.#doubt, record.doubt);
    }
    if (record !== undefined) this.#state.apply(record);
    this.#expect(sequence);
  }

  end(): Omit<Loaded, "keepBytes"> {
    // A snapshot was on the disk as a whole before it had its name: one that ends early was cut by something else.
    if (this.#isSnapshot) this.#damage();
    const next = Math.max(this.#expected ?? 0, this.#head?.next ?? 1);
    return { id: this.#head?.id, lines: this.#lines, next, damaged: this.#damaged, doubt: this.#doubt };
  }

  #expect(sequence: number): void {
    if (this.#isSnapshot && this.#head !== undefined && sequence === this.#head.lines) {
      this.#isSnapshot = false;
      this.#expected = this.#head.next;
      return;
    }
    this.#expected = sequence + 1;
  }

  #damage(): void {
    this.#damaged += 1;
    this.#doubt = Math.max(this.#doubt, this.#state.versions, 1);
    // What comes next cannot be foretold where a header is lost.
    this.#expected = undefined;
  }

  #refuseForeign(payload: string): void {
    const format = foreignFormat(payload);
    if (format === undefined) return;
    const remedy = "start the version that wrote it, or a later one";
    throw new JournalError("foreign", `${this.#path} is a journal of format ${format}: ${remedy}.`);
  }
}

/** Domains, namespaces, interfaces and pools of a node: some thousand texts. Beyond, they are kept as they come. */
const internMax = 100_000;

function interning(): Intern {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (known.size < internMax) known.set(text, text);
    return text;
  };
}
