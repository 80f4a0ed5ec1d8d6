// One node with a slice, and its peers, ready to be measured.
import { until } from "../../test/lab/wait.ts";
import { attachmentOf, type BenchPod } from "../cni/attachment.ts";
import { type Absent, type Contestant, isPresent } from "../cni/contestant.ts";
import { hostLocal } from "../cni/host-local.ts";
import type { BenchLab } from "../cni/lab.ts";
import { byShim, bySocket } from "../cni/ours.ts";
import { findPeers } from "../cni/peers.ts";
import { makePods } from "../cni/population.ts";
import { Stage } from "../cni/stage.ts";
import type { Whereabouts } from "../cni/whereabouts.ts";
import { define, knowDefinitions, slicedConfig, type SlicedNetwork } from "./networks.ts";
import { cutForPeer } from "./peer-slices.ts";

/**
 * 4,096 addresses: one that was given back rests for 30 s, so no measurement meets another's. Two contestants of ours
 * in two states of the API server take 2 x 2 x 320 one at a time; the rounds of 256 take 2 x 3 x 256.
 */
export const network: SlicedNetwork = { name: "slice-add", range: "10.0.0.0/8", sliceSize: "/20" };

export interface AddStage extends AsyncDisposable {
  readonly stage: Stage;
  readonly pods: readonly BenchPod[];
  readonly shim: Contestant;
  readonly daemon: Contestant;
  readonly anchor: Contestant | Absent;
  readonly whereabouts: Contestant | Absent;
}

export async function setAddStage(lab: BenchLab, count: number): Promise<AddStage> {
  await knowDefinitions(lab);
  const stage = await Stage.set(lab, { controller: true });
  try {
    const pods = await makePods(lab, { prefix: "slice", count, on: [stage.node] });
    await define(lab, [network]);
    const config = slicedConfig(network);
    const shim = byShim(stage.shim, stage.socket, config);
    await firstAddress(shim, pods[0]!);
    const { upstream } = await findPeers(lab, { optimistic: false });
    return {
      stage,
      pods,
      shim,
      daemon: bySocket(stage.socket, config),
      anchor: hostLocal({ folder: `${lab.cluster.folder}/peers/host-local`, subnet: "10.65.0.0/16" }),
      whereabouts: isPresent(upstream) ? await onSlice(lab, upstream, stage.node) : upstream,
      [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
    };
  } catch (error) {
    await stage[Symbol.asyncDispose]();
    throw error;
  }
}

async function onSlice(lab: BenchLab, upstream: Whereabouts, node: string): Promise<Contestant> {
  await cutForPeer(lab, upstream.namespace, network, [node]);
  return upstream.onSlice({ node, network: network.name, range: network.range, sliceSize: network.sliceSize });
}

/** The slice is granted and taken when there is an address. */
async function firstAddress(ours: Contestant, pod: BenchPod): Promise<void> {
  const attachment = attachmentOf(pod, "first");
  let words = "";
  const ask = async () => {
    const { problem = "" } = await ours.call("ADD", attachment);
    words = problem;
    return problem === "";
  };
  await until(ask, { what: "the first address of a slice" }).catch((cause: unknown) => {
    throw new Error(`no address of a slice: ${words}`, { cause });
  });
  const { problem } = await ours.call("DEL", attachment);
  if (problem !== undefined) throw new Error(`the first address was not given back: ${problem}`);
}
