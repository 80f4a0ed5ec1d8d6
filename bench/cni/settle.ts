// A network as it is in a cluster that has used it before: its pool exists, and the leader has told what is free.
import { decodeFreeMap, freeMapName } from "../../src/cluster/free-map.ts";
import { configMaps } from "../../src/cluster/resources.ts";
import { until } from "../../test/lab/wait.ts";
import { attachmentOf } from "./attachment.ts";
import { Fleet } from "./fleet.ts";
import { type BenchLab, systemNamespace } from "./lab.ts";
import { configOf, type NetworkPlan } from "./ours.ts";
import { makeNodes, makePods } from "./population.ts";

/** A daemon of its own takes an address and gives it back at once; nothing is held afterwards. */
export async function settle(lab: BenchLab, plan: Required<NetworkPlan>): Promise<void> {
  const node = `settler-${plan.network}`;
  await makeNodes(lab, [node]);
  const [pod] = await makePods(lab, { prefix: node, count: 1, on: [node] });
  await using settler = await Fleet.start(lab, [node], { cooldownSeconds: 0 });
  const attachment = attachmentOf(pod!);
  for (const command of ["ADD", "DEL"] as const) {
    const { problem } = await settler.call(node, command, attachment, configOf(plan));
    if (problem !== undefined) throw new Error(`${command} on ${plan.network}: ${problem}`);
  }
  await mapped(lab, plan, 0);
}

/** The leader is a second behind at most, and 8,000 new holds cost it some. */
const mappedMs = 120_000;

/** Until the leader's free map counts so many holders. */
export async function mapped(lab: BenchLab, plan: Required<NetworkPlan>, holders: number): Promise<void> {
  const pool = poolOf(plan);
  const at = { namespace: systemNamespace, name: freeMapName(pool) };
  await until(async () => decodeFreeMap(await lab.admin.get(configMaps, at))?.holders === holders, {
    what: `the leader's free map of ${pool} with ${holders} holders`,
    timeoutMs: mappedMs,
  });
}

/** namespace/name of the pool object, as whereabouts names it. */
export function poolOf({ range, network }: Required<NetworkPlan>): string {
  return `${systemNamespace}/${network}-${range.replace("/", "-")}`;
}
