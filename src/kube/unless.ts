// Calls that may be refused because somebody was faster: that is an answer, or a reason to begin anew.
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

/**
 * A guarded change: where it is refused for one of these reasons, it begins anew with what is there then. Refused so
 * often in a row is no accident: the refusal is thrown.
 */
export async function anew<T>(
  mostTries: number,
  codes: readonly ApiError["code"][],
  work: (isFirst: boolean) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work(tries === 1);
    } catch (error) {
      if (!isApiError(error, ...codes) || tries === mostTries) throw error;
    }
  }
}
