// Whether whereabouts must be expected to write in this cluster: the leader's word, on which daemons act. Pure.
//
// On at the first sign; off only after whereabouts has been silent long enough and every pool has been adopted anew since:
// what it wrote in the meantime has no hold, and would be handed out twice.

export interface UpstreamSigns {
  readonly active: boolean;
  /** Sentences. */
  readonly why: readonly string[];
}

export interface Memory {
  /** Since when there has been no sign; undefined: there is one, or nobody has looked yet. */
  readonly silentSinceMs: number | undefined;
}

export interface CoexistenceInput {
  /** What stands in the state now; undefined: there is none yet. */
  readonly current: boolean | undefined;
  readonly upstream: UpstreamSigns;
  /** Pools with entries that have no hold, or that are not marked. */
  readonly unadopted: number;
  readonly nowMs: number;
}

export interface CoexistenceVerdict {
  readonly coexistence: boolean;
  readonly why: string;
  /** Pools may be adopted and marked now. */
  readonly mayAdopt: boolean;
  readonly memory: Memory;
}

/** The lease of whereabouts lasts 1.5 s and its garbage collector runs at every pod's end; two minutes are its longest ADD. */
export const silenceMs = 120_000;

export function nextCoexistence(memory: Memory, input: CoexistenceInput): CoexistenceVerdict {
  const { current, upstream, unadopted, nowMs } = input;
  if (upstream.active) {
    const why = upstream.why.join("; ") || "whereabouts is active";
    return { coexistence: true, why, mayAdopt: false, memory: { silentSinceMs: undefined } };
  }
  const silentSinceMs = memory.silentSinceMs ?? nowMs;
  const next = { silentSinceMs };
  // A cluster that has never had whereabouts has nothing to wait for.
  const isSilent =
    nowMs - silentSinceMs >= silenceMs || (current === undefined && unadopted === 0) || current === false;
  if (isSilent && unadopted === 0) return { coexistence: false, why: "", mayAdopt: true, memory: next };
  if (current === false) return { coexistence: false, why: "", mayAdopt: true, memory: next };
  const waits = isSilent
    ? `${unadopted} pools are not adopted yet`
    : "whereabouts was active within the last two minutes, or may have been";
  return { coexistence: true, why: waits, mayAdopt: isSilent, memory: next };
}
