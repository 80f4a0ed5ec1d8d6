// A pool in whereabouts' form, filled before the measurement: its IPPool with an entry for every address, and a
// reservation beside each, as its ADDs would have left them.
import { ipPools, reservations } from "../../src/cluster/resources.ts";
import { isApiError } from "../../src/kube/errors.ts";
import type { BenchPod } from "./attachment.ts";
import { attachmentOf } from "./attachment.ts";
import { lowestOf } from "./held.ts";
import type { BenchLab } from "./lab.ts";
import { eachAtOnce } from "./population.ts";

export interface FilledPool {
  readonly namespace: string;
  readonly range: string;
  readonly pods: readonly BenchPod[];
}

/** Why it cannot be that full; undefined where it is. */
export async function fillWhereabouts(lab: BenchLab, plan: FilledPool): Promise<string | undefined> {
  const { namespace, range, pods } = plan;
  const name = range.replace("/", "-");
  const entries = pods.map((pod, index) => [
    String(index + 1),
    { id: attachmentOf(pod).containerId, podref: `${pod.namespace}/${pod.name}`, ifname: "net1" },
  ]);
  const allocations: Record<string, { id: string; podref: string; ifname: string }> = Object.fromEntries(entries);
  try {
    const pool = await existing(lab, namespace, name);
    if (pool === undefined) {
      await lab.admin.create(ipPools, { metadata: { namespace, name }, spec: { range, allocations } });
    } else {
      await lab.admin.update(ipPools, { ...pool, spec: { range, allocations } });
    }
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 300) : String(error);
  }
  await eachAtOnce(lowestOf(range, pods.length), (address, index) =>
    reserve(lab, namespace, `${address}`, pods[index]!),
  );
  return undefined;
}

async function existing(lab: BenchLab, namespace: string, name: string) {
  try {
    return await lab.admin.get(ipPools, { namespace, name });
  } catch (error) {
    if (isApiError(error, "not-found")) return undefined;
    throw error;
  }
}

async function reserve(lab: BenchLab, namespace: string, name: string, pod: BenchPod): Promise<void> {
  const spec = { podref: `${pod.namespace}/${pod.name}`, ifname: "net1" };
  try {
    await lab.admin.create(reservations, { metadata: { namespace, name }, spec });
  } catch (error) {
    if (!isApiError(error, "already-exists")) throw error; // of the fill before
  }
}
