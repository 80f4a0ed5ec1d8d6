// What a test expects of an ApiError: its code, and what its sentence names.
import { ObjectError, type ApiErrorCode } from "../../src/api/error.ts";

export interface ApiRefusal {
  readonly code: ApiErrorCode;
  readonly message: string;
}

/** Runs it, and returns what it refused with. Whatever else happens fails the test. */
export function apiRefusalOf(act: () => unknown): ApiRefusal {
  let result: unknown;
  try {
    result = act();
  } catch (error) {
    if (error instanceof ObjectError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error(`it was accepted, as ${JSON.stringify(result)}`);
}
