// 64 at once on one range and one node, 256 in all: the shim runs for each, as a runtime does when a node is filled.
import { attachmentOf, type BenchPod } from "./attachment.ts";
import { isPresent } from "./contestant.ts";
import { hostLocal } from "./host-local.ts";
import type { BenchLab } from "./lab.ts";
import type { LoadResult } from "./load.ts";
import { byShim, configOf } from "./ours.ts";
import { findPeers, peersOn } from "./peers.ts";
import { makePods } from "./population.ts";
import { reasonOf } from "./ratio.ts";
import { assertClean, givenIn, verify } from "./reserved.ts";
import { attachmentsOf, medianRound, oneRound, type RoundFigures } from "./rounds.ts";
import { Stage } from "./stage.ts";
import { showLoad } from "./table.ts";
import type { Given } from "./verdict.ts";

const atOnce = 64;
const count = 256;
const rounds = 3;
/** whereabouts takes half a minute for a round, its rewrite up to two. */
const limitMs = 180_000;

interface NodeBurst {
  readonly ours: RoundFigures;
  readonly hostLocal?: RoundFigures;
  readonly whereabouts?: RoundFigures;
  readonly fork?: RoundFigures;
  /** Why there is no whereabouts. */
  readonly reason: string | undefined;
}

export async function burstOnNode(lab: BenchLab): Promise<NodeBurst> {
  await using stage = await Stage.set(lab, { controller: true });
  const pods = await makePods(lab, { prefix: "burst", count, on: [stage.node] });
  const network = "burst-node";
  const ours = byShim(stage.shim, stage.socket, configOf({ range: "10.64.0.0/16", network }));
  const anchor = hostLocal({ folder: `${lab.cluster.folder}/peers/host-local`, subnet: "10.65.0.0/16" });
  const peers = await findPeers(lab, { optimistic: false });
  const contestants = [ours, ...(isPresent(anchor) ? [anchor] : []), ...peersOn(peers, 66)];
  const given: Given[] = [];
  for (const contestant of contestants) await contestant.call("ADD", attachmentOf(pods[0]!, "warm"));
  /** Key: contestant. */
  const results = new Map<string, LoadResult[]>();
  for (let round = 0; round < rounds; round++) {
    for (const contestant of contestants) {
      const attachments = attachmentsOf(pods, `net${round}`);
      const load = await oneRound({ contestant, command: "ADD", attachments, atOnce, limitMs });
      results.set(contestant.name, [...(results.get(contestant.name) ?? []), load]);
      showLoad(`${contestant.name}, 64 at once, round ${round + 1}`, load);
      if (contestant === ours) given.push(...givenIn(network, attachments, load.replies));
    }
  }
  await judge(lab, network, given, pods[0]!);
  const of = (name: string) => (results.has(name) ? { [name]: medianRound(results.get(name)!) } : {});
  const {
    [ours.name]: mine,
    "host-local": local,
    whereabouts,
    "whereabouts-fork": fork,
  } = {
    ...of(ours.name),
    ...of("host-local"),
    ...of("whereabouts"),
    ...of("whereabouts-fork"),
  };
  return {
    ours: mine!,
    ...(local && { hostLocal: local }),
    ...(whereabouts && { whereabouts }),
    ...(fork && { fork }),
    reason: reasonOf(peers.upstream),
  };
}

/** The warm-up's own address is known to nobody here: it is looked past. */
async function judge(lab: BenchLab, network: string, given: readonly Given[], warm: BenchPod): Promise<void> {
  const { leaked, ...rest } = await verify(lab, network, given);
  const others = leaked.filter((line) => !line.includes(`held for ${warm.namespace}/${warm.name},`));
  assertClean("64 at once", { ...rest, leaked: others });
}
