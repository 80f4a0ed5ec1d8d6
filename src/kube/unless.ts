// A call that may be refused because somebody was faster: that is an answer, not a failure.
import { type ApiError, isApiError } from "./errors.ts";

export type Signal = AbortSignal | undefined;

/** Undefined: it was refused for one of these reasons. */
export async function unless<T>(codes: readonly ApiError["code"][], call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isApiError(error, ...codes)) return undefined;
    throw error;
  }
}
