// When an operator's word on coexistence takes effect, and what the leader decides where there is none. Pure.
// "on" at once: every write of coexistence is one more, never one less, so daemons may see it one after the other;
// whereabouts may be started when the state says that nothing is left to prepare. "off" only after whereabouts has been
// silent long enough and every pool has been adopted since: what it wrote in the meantime has no hold, and would be
// handed out twice. Once off, no sign turns it on again.
import type { Word } from "../../cluster/coexistence-word.ts";
import type { Upstream } from "../../ledger/coexistence/upstream.ts";
import { counted } from "../../net/counted.ts";

export interface Memory {
  /** Since when there has been no sign; undefined: there is one, or nobody has looked yet. */
  readonly silentSinceMs: number | undefined;
}

export interface CoexistenceInput {
  readonly word: Word["word"];
  /** What daemons act by now; undefined: nothing yet. */
  readonly current: boolean | undefined;
  readonly upstream: Pick<Upstream, "active" | "why">;
  /** Pools with entries that have no hold, or that are not marked. */
  readonly unadopted: number;
  /** Holds that whereabouts would not see yet. */
  readonly unshown: number;
  readonly nowMs: number;
}

/** whereabouts' lease lasts 1.5 s, its garbage collector runs at every pod's end; its longest ADD is two minutes. */
export const silenceMs = 120_000;
const unknown: Memory = { silentSinceMs: undefined };

/** `why` is empty where the word is in force, whole. */
export function nextCoexistence(memory: Memory, input: CoexistenceInput) {
  const { word, current, upstream, unadopted, unshown, nowMs } = input;
  if (word === "on") {
    const why =
      unshown === 0
        ? ""
        : `${counted(unshown, "hold is", "holds are")} not yet where whereabouts looks: do not start it before`;
    return { coexistence: true, why, mayAdopt: false, memory: unknown };
  }
  if (current === false) return { coexistence: false, why: "", mayAdopt: true, memory: unknown };
  if (upstream.active) {
    const why = `off takes effect when whereabouts is silent: ${upstream.why.join(" ")}`;
    return { coexistence: true, why, mayAdopt: false, memory: unknown };
  }
  const silentSinceMs = memory.silentSinceMs ?? nowMs;
  // A cluster that has never had whereabouts has nothing to wait for.
  const isSilent = nowMs - silentSinceMs >= silenceMs || (current === undefined && unadopted === 0);
  if (isSilent && unadopted === 0) return { coexistence: false, why: "", mayAdopt: true, memory: { silentSinceMs } };
  const waits = isSilent
    ? `${unadopted} pools are not adopted yet`
    : "whereabouts was active within the last two minutes, or may have been";
  return { coexistence: true, why: `off takes effect later: ${waits}`, mayAdopt: isSilent, memory: { silentSinceMs } };
}

/** What to do about signs that change nothing by themselves. */
export function strayWords(signs: readonly string[]): string {
  return (
    `${signs.join(" ")} Coexistence is not on for it, so it may give addresses that are held: ` +
    "stop it, or say `holdfast coexistence on` (docs/migrate-from-whereabouts.md)."
  );
}

const unseen = "whereabouts was not seen: if it is gone, `holdfast coexistence off` ends it";

/** A word that was found by what coexistence left, not by whereabouts. */
export const unseenWords =
  `Coexistence stays on, since holds are kept from whereabouts; ${unseen}. ` +
  "Slices and persistent addresses rest until then.";

export interface DecisionInput {
  readonly systemNamespace: string;
  /** Namespaces with pools that are no definition's own: of a whereabouts that is gone, or ours by a lost word. */
  readonly poolsElsewhere: readonly string[];
  readonly current: boolean | undefined;
  readonly upstream: Upstream;
  /** Holds of the system namespace carry our finalizer, which only coexistence puts there: its word is lost. */
  readonly hasKept: boolean;
}

/** The word of a cluster where nobody has said one; a sentence: it is undecided, and nothing is handed out before. */
export function firstWord(input: DecisionInput): Word | string {
  const { systemNamespace, poolsElsewhere, current, upstream, hasKept } = input;
  if (current === false) return { word: "off", by: "the controller: it was off before there was a word" };
  if (upstream.active) return { word: "on", by: `the controller, at its first start: ${upstream.why.join(" ")}` };
  const [other] = upstream.elsewhere;
  if (other !== undefined) {
    const places = `in namespace ${other.namespace}, Holdfast in ${systemNamespace}: a range of both would have two ledgers`;
    const remedy =
      "Say `holdfast coexistence on`, and Holdfast keeps its pools there, too; or, if they share no range,";
    return `${other.workload} is whereabouts and keeps its pools ${places}. ${remedy} \`holdfast coexistence off\``;
  }
  const [left] = poolsElsewhere;
  if (left === undefined && hasKept)
    return { word: "on", by: `the controller: holds are kept from whereabouts, so it was on before; ${unseen}` };
  if (left === undefined) return { word: "off", by: "the controller, at its first start: no sign of whereabouts" };
  return (
    `there are pools in namespace ${left}, as of a whereabouts that kept its own there, and Holdfast would make others in ${systemNamespace}: a range ` +
    `of both would have two ledgers. Say \`holdfast coexistence off --namespace ${left}\` to go on there, or --namespace ${systemNamespace} if nothing of ` +
    "theirs is in use"
  );
}
