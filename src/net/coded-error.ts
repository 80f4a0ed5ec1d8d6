// An error with a code for machines and whole sentences for people. Every folder that has one names its codes.

export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** What `read` gives, or what `otherwise` makes of a refusal of this class. Any other error goes on. */
export function attempt<E extends Error, T, R = undefined>(
  refusal: new (...args: never[]) => E,
  read: () => T,
  otherwise: (error: E) => R = () => undefined as R,
): T | R {
  try {
    return read();
  } catch (error) {
    if (error instanceof refusal) return otherwise(error);
    throw error;
  }
}
