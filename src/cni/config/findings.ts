// Collects what is wrong with an input, so that all of it is reported at once.
//
// `refuse`: the value cannot work in any mode. `dislike`: whereabouts lets it pass; a warning that says what is done
// instead, and refused with `strict: true`. `disallow`: the key is new here; a warning with `strict: false` only.
import { type ErrorCode, errorOfProblems, type Problem } from "../error.ts";
import { show } from "../json.ts";

/** A configuration of 1 MiB can hold a hundred thousand mistakes; nobody reads more than these, the rest is counted. */
const maxListed = 100;

export class Findings {
  /** As it was given; undefined where it was not. */
  readonly strict: boolean | undefined;
  readonly problems: Problem[] = [];
  /** What was asked for and is not done. */
  readonly warnings: Problem[] = [];
  /** What has no effect, and harms nobody. */
  readonly notices: Problem[] = [];
  /** Whether this key's value is secret: it is from a file of the node, and whoever named that file reads the error. */
  readonly conceals: (key: string) => boolean;
  #unlisted = 0;

  constructor(strict: boolean | undefined, conceals: (key: string) => boolean = () => false) {
    this.strict = strict;
    this.conceals = conceals;
  }

  /** `reason` says what is wrong and what to write; without a full stop. */
  refuse(key: string, value: unknown, reason: string): void {
    if (this.problems.length === maxListed) this.#unlisted += 1;
    else this.problems.push(this.#problem(key, value, reason));
  }

  warn(key: string, value: unknown, reason: string): void {
    if (this.warnings.length < maxListed) this.warnings.push(this.#problem(key, value, reason));
  }

  note(key: string, reason: string): void {
    if (this.notices.length < maxListed) this.notices.push({ key, value: undefined, message: `${key} ${reason}.` });
  }

  /** `instead` says what happens to the value. */
  dislike(key: string, value: unknown, reason: string, instead: string): void {
    if (this.strict === true) this.refuse(key, value, reason);
    else this.warn(key, value, `${reason}; ${instead}`);
  }

  /** `instead` says what happens to the value when not strict. */
  disallow(key: string, value: unknown, reason: string, instead: string): void {
    if (this.strict === false) this.warn(key, value, `${reason}; with strict: false ${instead}`);
    else this.refuse(key, value, reason);
  }

  #problem(key: string, value: unknown, reason: string): Problem {
    if (!this.conceals(key)) return { key, value, message: `${key} is ${show(value)}: ${reason}.` };
    const message = `${key} comes from the flat file, and cannot be used as it is: correct it there.`;
    return { key, value: undefined, message };
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

  settle(code: ErrorCode, subject: string): void {
    if (this.problems.length > 0) throw errorOfProblems(code, subject, this.problems, this.#unlisted);
  }
}

/** The message of what was thrown, as a part of a sentence. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.endsWith(".") ? message.slice(0, -1) : message;
}
