// What a call came to: how long it took, and which addresses it gave or why none.

export interface Reply {
  readonly tookMs: number;
  readonly addresses: readonly string[];
  /** Why it failed; undefined where it did not. */
  readonly problem?: string;
}

/** A runtime gives a plugin minutes; a call that takes longer counts as failed, and ends. */
export const callLimitMs = 180_000;

/** Reads what a plugin printed: a result of 0.3.0 or later, or an error. */
export function readReply(tookMs: number, exitStatus: number | null, printed: string, complaint = ""): Reply {
  if (exitStatus !== 0) {
    const words = `${printed} ${complaint}`.trim().slice(0, 500);
    return { tookMs, addresses: [], problem: `exit ${exitStatus ?? "by signal"}: ${words}` };
  }
  try {
    const { ips = [] } = (printed.trim() === "" ? {} : JSON.parse(printed)) as { ips?: { address: string }[] };
    return { tookMs, addresses: ips.map(({ address }) => address.replace(/\/\d+$/, "")) };
  } catch {
    return { tookMs, addresses: [], problem: `not JSON: ${printed.slice(0, 200)}` };
  }
}
