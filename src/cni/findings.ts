// Collects what is wrong with an input, so that all of it is reported at once.
//
// `refuse` is for what cannot work in any mode. `dislike` is for what whereabouts lets pass: refused when strict, a warning
// that says what is done instead when not.
import { type ErrorCode, errorOfProblems, type Problem } from "./error.ts";
import { show } from "./json.ts";

/** A configuration of 1 MiB can hold a hundred thousand mistakes; nobody reads more than this many, and the rest are counted. */
const maxListed = 100;

export class Findings {
  readonly strict: boolean;
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  /** How many problems there are beyond those listed. */
  #unlisted = 0;

  constructor(strict: boolean) {
    this.strict = strict;
  }

  /** `reason` says what is wrong and what to write; without a full stop. */
  refuse(key: string, value: unknown, reason: string): void {
    if (this.problems.length === maxListed) this.#unlisted += 1;
    else this.problems.push({ key, value, message: `${key} is ${show(value)}: ${reason}.` });
  }

  warn(key: string, value: unknown, reason: string): void {
    if (this.warnings.length === maxListed) return;
    this.warnings.push({ key, value, message: `${key} is ${show(value)}: ${reason}.` });
  }

  /** `instead` says what happens to the value when not strict. */
  dislike(key: string, value: unknown, reason: string, instead: string): void {
    if (this.strict) this.refuse(key, value, reason);
    else this.warn(key, value, `${reason}; with strict: false ${instead}`);
  }

  /** Nothing more will be listed: the trouble of wording it can be saved. */
  get full(): boolean {
    return Math.max(this.problems.length, this.warnings.length) === maxListed;
  }

  /** Runs a parser; what it throws becomes a problem with this key, and the answer is undefined. */
  attempt<T>(key: string, value: unknown, parse: () => T): T | undefined {
    try {
      return parse();
    } catch (error) {
      this.refuse(key, value, reasonOf(error));
      return undefined;
    }
  }

  /** Throws one error for all problems, if there are any. */
  settle(code: ErrorCode, subject: string): void {
    if (this.problems.length > 0) throw errorOfProblems(code, subject, this.problems, this.#unlisted);
  }
}

/** The message of what was thrown, as a part of a sentence. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.endsWith(".") ? message.slice(0, -1) : message;
}
