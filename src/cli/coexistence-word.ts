// Saying the operator's word on coexistence, and seeing its effect: the state, daemons' Leases, signs of whereabouts.
import { seenAnnotation } from "../api/slices/node-lease.ts";
import { type Finding, found } from "../check/finding.ts";
import { begunAt, inForce, poolNamespaceOf, readWord, type Word, wordData } from "../cluster/coexistence-word.ts";
import { freshMs, nodeOfLease, renewTimeOf } from "../cluster/fencing.ts";
import { configMaps, leases } from "../cluster/resources.ts";
import { fetchState, stateName } from "../cluster/state.ts";
import { type Clock, sleep } from "../kube/clock.ts";
import type { KubeClient } from "../kube/rest.ts";
import { detectUpstream, type Upstream, whyNotMoved } from "../ledger/coexistence/upstream.ts";
import { strayWords } from "../pools/coexistence/verdict.ts";
import { UsageError } from "./cluster-command.ts";

export interface CoexistenceOptions {
  readonly systemNamespace: string;
  readonly whereaboutsNamespaces: readonly string[];
}

export interface CoexistenceReport {
  /** Undefined: nobody has said one, and the controller has not decided yet. */
  readonly word?: Word;
  /** `unknown`: there is no state yet. */
  readonly inForce: "on" | "off" | "undecided" | "unknown";
  /** Why the word is not in force, whole; empty: it is. */
  readonly why: string;
  /** Nodes whose daemons are heard of and have not seen yet that coexistence is on. */
  readonly unaware: readonly string[];
  readonly whereabouts: Upstream;
  /** Where pools are. */
  readonly namespace: string;
}

interface Given {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export async function readCoexistence(given: Given, options: CoexistenceOptions): Promise<CoexistenceReport> {
  const { client, clock, signal } = given;
  const { systemNamespace: namespace, whereaboutsNamespaces: namespaces } = options;
  const now = () => clock.wallMs();
  const state = await fetchState(client, { namespace, signal });
  const poolNamespace = poolNamespaceOf(state, namespace);
  const where = { systemNamespace: namespace, poolNamespace, namespaces };
  const whereabouts = await detectUpstream(client, { ...where, now, signal });
  const { items } = await client.list(leases, { namespace, signal });
  const [word, force, since] = [readWord(state), inForce(state), begunAt(state)];
  const unaware = items.flatMap((lease) => {
    const node = nodeOfLease(lease);
    const isHeardOf = now() - Date.parse(renewTimeOf(lease)) < freshMs;
    const hasSeen = Number(lease.metadata.annotations?.[seenAnnotation] ?? -1) >= since;
    return node === undefined || !isHeardOf || hasSeen || force !== true ? [] : [node];
  });
  const missing = `there is no ConfigMap ${namespace}/${stateName} yet: the controller writes it`;
  const wanted = word === undefined || (word.word === "on") === force;
  const why = state === undefined ? missing : (state.data?.["why"] ?? "");
  return {
    ...(word && { word }),
    inForce: state === undefined ? "unknown" : force === undefined ? "undecided" : force ? "on" : "off",
    why: why !== "" || wanted ? why : "the controller has not acted on it yet",
    unaware,
    whereabouts,
    namespace: poolNamespace,
  };
}

/** Until the word is in force, whole; or the time is over, and the report says what it waits for. */
export async function awaitWord(
  given: Given,
  options: CoexistenceOptions & { readonly word: Word["word"]; readonly timeoutMs: number },
): Promise<CoexistenceReport> {
  const { clock, signal } = given;
  const untilMs = clock.monotonicMs() + options.timeoutMs;
  for (;;) {
    const report = await readCoexistence(given, options);
    if (isWhole(report, options.word) || clock.monotonicMs() >= untilMs) return report;
    await sleep(clock, 1000, signal);
  }
}

export function isWhole(report: CoexistenceReport, word: Word["word"]): boolean {
  const { inForce: force, why, unaware, namespace } = report;
  const isThere = (report.word?.namespace ?? namespace) === namespace;
  return force === word && why === "" && unaware.length === 0 && isThere;
}

/** Throws UsageError where the word would move pools that are there. */
export async function writeWord({ client, signal }: Given, namespace: string, word: Word): Promise<void> {
  const data = wordData(word);
  const at = { namespace, name: stateName };
  const there = await fetchState(client, { namespace, signal });
  const from = poolNamespaceOf(there, namespace);
  const to = word.namespace ?? from;
  const why = to === from ? undefined : await whyNotMoved(client, { from, to, signal });
  if (why !== undefined) throw new UsageError(`nothing was written: ${why}.`, 1);
  if (there === undefined) await client.create(configMaps, { metadata: at, data }, { signal });
  else await client.patch(configMaps, at, { type: "merge", body: { data } }, { signal });
}

/** What `holdfast check` says of it. */
export function examineCoexistence(report: CoexistenceReport, namespace: string): Finding[] {
  const { inForce: force, why, whereabouts } = report;
  const objects = [`ConfigMap ${namespace}/${stateName}`];
  const remedy = "`holdfast coexistence` shows the state; docs/migrate-from-whereabouts.md has the way.";
  if (force === "undecided")
    return found("coexistence-undecided", "error", objects, {
      message: `Nothing is handed out of shared ranges: ${why}.`,
      remedy,
    });
  const signs = force === "unknown" ? [] : signsOf(whereabouts, force === "off");
  if (signs.length === 0) return [];
  return found("whereabouts-unexpected", "warning", objects, { message: strayWords(signs), remedy });
}

function signsOf({ why, elsewhere }: Upstream, withOwn: boolean): string[] {
  const strays = elsewhere.map((each) => `${each.workload} runs whereabouts, with its pools in ${each.namespace}.`);
  return [...(withOwn ? why : []), ...strays];
}

export function reportLines(report: CoexistenceReport): string[] {
  const { word, inForce: force, why, unaware, whereabouts, namespace } = report;
  const seen = signsOf(whereabouts, true);
  return [
    `word         ${word === undefined ? "none yet" : `${word.word}, by ${word.by || "nobody knows whom"}`}`,
    `in force     ${force}`,
    `pools in     ${namespace}${word?.namespace === undefined || word.namespace === namespace ? "" : `, and by the word in ${word.namespace}`}`,
    ...(why === "" ? [] : [`waits for    ${why}`]),
    ...(unaware.length === 0 ? [] : [`waits for    daemons that have not seen it yet: ${unaware.join(", ")}`]),
    `whereabouts  ${seen.length === 0 ? "no sign of it" : seen.join(" ")}`,
    ...(force === "off" && seen.length > 0
      ? ["             It may give addresses that are held: stop it, or say on."]
      : []),
  ];
}
