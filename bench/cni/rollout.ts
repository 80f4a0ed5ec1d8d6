// Many daemons at work: one ADD on each at once, or a deployment of many pods with several networks.
import { reservations } from "../../src/cluster/resources.ts";
import { type Attachment, attachmentOf, type BenchPod } from "./attachment.ts";
import { cpuPerCall, type CpuReading, readCpu } from "./cpu.ts";
import { rounded } from "./figures.ts";
import type { Fleet } from "./fleet.ts";
import type { BenchLab } from "./lab.ts";
import { type LoadResult, resultOf } from "./load.ts";
import { configOf } from "./ours.ts";
import { eachAtOnce } from "./population.ts";
import type { Reply } from "./reply.ts";
import { between, isWrite, type RequestCount, total } from "./request-counts.ts";
import { assertClean, givenIn, verify } from "./reserved.ts";

export interface RolloutPlan {
  readonly what: string;
  /** Each pod goes to the daemon of its node. */
  readonly pods: readonly BenchPod[];
  readonly range: string;
  /** A pod gets one interface in each, one after another, as a delegating plugin asks; the pods all at once. */
  readonly networks: readonly string[];
  /** So many pods of a node at once; default: all of them. */
  readonly atOnce?: number;
  /** Interfaces are named from this on: a second round on the same networks is for other interfaces. */
  readonly firstInterface?: number;
  /** What earlier rounds on the same networks were answered. */
  readonly earlier?: readonly Rollout[];
}

export interface Rollout {
  readonly load: LoadResult;
  /** Creates that met another's object. */
  readonly conflicts: number;
  /** Answers 429 of the API server's fair queuing, retried by whoever got them. */
  readonly throttled: number;
  /** The same as a share of all creates of reservations. */
  readonly conflictShare: number;
  /** API requests of any kind per address given, watches aside. */
  readonly requestsPerAdd: number;
  /** Those that write, the leader's and the lost ones included. */
  readonly writesPerAdd: number;
  readonly cpuPerAdd: CpuReading;
  /** Key: network. */
  readonly attachments: ReadonlyMap<string, readonly Attachment[]>;
  readonly replies: ReadonlyMap<string, readonly (Reply | undefined)[]>;
}

export async function roll(lab: BenchLab, fleet: Fleet, plan: RolloutPlan): Promise<Rollout> {
  const { pods, networks, range, firstInterface = 1, atOnce = pods.length } = plan;
  const attachments = new Map(
    networks.map((network, index) => [network, pods.map((pod) => attachmentOf(pod, `net${firstInterface + index}`))]),
  );
  const replies = new Map(networks.map((network) => [network, pods.map((): Reply | undefined => undefined)]));
  const configs = new Map(networks.map((network) => [network, configOf({ range, network })]));
  const before = await lab.requestCounts();
  const cpu = readCpu(lab);
  const startedMs = performance.now();
  const attach = async ({ node }: BenchPod, index: number) => {
    for (const network of networks) {
      const attachment = attachments.get(network)![index]!;
      replies.get(network)![index] = await fleet.call(node, "ADD", attachment, configs.get(network)!);
    }
  };
  const byNode = Map.groupBy(pods.entries(), ([, { node }]) => node);
  await Promise.all(
    Array.from(byNode.values(), (mine) => eachAtOnce(mine, ([index, pod]) => attach(pod, index), atOnce)),
  );
  const wallMs = performance.now() - startedMs;
  const cpuPerAdd = cpuPerCall(cpu, readCpu(lab), pods.length * networks.length);
  const asked = between(before, await lab.requestCounts()).filter(({ resource }) => resource !== "");
  const adds = pods.length * networks.length;
  const isCreate = ({ verb, resource }: RequestCount) => verb === "POST" && resource.startsWith(reservations.plural);
  const conflicts = total(asked, (each) => isCreate(each) && each.code === 409);
  const rollout = {
    load: resultOf([...replies.values()].flat(), wallMs),
    conflicts,
    conflictShare: rounded(conflicts / total(asked, isCreate), 3),
    throttled: total(asked, ({ code }) => code === 429),
    requestsPerAdd: rounded(total(asked, ({ verb }) => verb !== "WATCH") / adds),
    writesPerAdd: rounded(total(asked, isWrite) / adds),
    cpuPerAdd,
    attachments,
    replies,
  };
  await judge(lab, plan, rollout);
  return rollout;
}

/** Over all rounds on these networks: none twice, each on record. */
async function judge(lab: BenchLab, { what, networks, earlier = [] }: RolloutPlan, rollout: Rollout): Promise<void> {
  for (const network of networks) {
    const given = [...earlier, rollout].flatMap((each) =>
      givenIn(network, each.attachments.get(network) ?? [], each.replies.get(network) ?? []),
    );
    assertClean(`${what}, network ${network}`, await verify(lab, network, given));
  }
}

/** For the closing line. */
export function rolloutFigures(rollout: Rollout) {
  const { load, attachments: _, replies: __, ...counts } = rollout;
  return {
    ...load.figures,
    allAfterMs: rounded(load.wallMs, 0),
    refused: load.refused,
    /** `roll` throws where there is one. */
    duplicates: 0,
    ...counts,
  };
}
