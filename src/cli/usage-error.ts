// What a command throws when it cannot do what was asked: a sentence for people, no stack.

export class UsageError extends Error {
  /** 1: understood, but refused. 2: not understood. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 2, options?: ErrorOptions) {
    super(message, options);
    this.name = "UsageError";
    this.exitCode = exitCode;
  }
}
