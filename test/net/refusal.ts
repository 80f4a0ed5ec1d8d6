// What a test expects of a NetError: its code, and that the message names what was given.
import { NetError, type NetErrorCode } from "../../src/net/error.ts";

export interface Refusal {
  readonly code: NetErrorCode;
  readonly message: string;
}

/** Runs it, and returns what it refused with. Whatever else happens fails the test. */
export function refusalOf(act: () => unknown): Refusal {
  let result: unknown;
  try {
    result = act();
  } catch (error) {
    if (error instanceof NetError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error(`it was accepted, as ${String(result)}`);
}
