// Reading what somebody else may have written: what cannot be read is as good as none.

/** Undefined: it throws. */
export function orNone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
