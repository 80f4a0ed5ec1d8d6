// whereabouts with node slices at the size where its users gave up: 256 nodes, ten networks, one pod each, all at once.
//
// Its binary runs once per address, as a delegating plugin would run it on each node; here all on this machine. A pod
// whose ten addresses take longer than the kubelet waits is started anew in a cluster; here it counts as not served.
import { attachmentOf, type BenchPod } from "../cni/attachment.ts";
import { isPresent } from "../cni/contestant.ts";
import { type Figures, figuresOf, rounded } from "../cni/figures.ts";
import { BenchLab } from "../cni/lab.ts";
import { findPeers } from "../cni/peers.ts";
import { makeNodes, makePods } from "../cni/population.ts";
import type { Whereabouts } from "../cni/whereabouts.ts";
import { slicedNetworks, type SlicedNetwork } from "./networks.ts";
import { cutForPeer } from "./peer-slices.ts";

export interface PeerScalePlan {
  readonly nodes: number;
  readonly networks: number;
  readonly fsync: boolean;
  readonly log: (line: string) => void;
}

export interface PeerScale {
  /** Why it was not run. */
  readonly reason?: string;
  readonly nodes?: number;
  /** Of the calls that gave an address. */
  readonly add?: Figures;
  readonly allAddressesMs?: number;
  /** Pods that had all their addresses in the time that the kubelet gives a sandbox. */
  readonly podsServed?: number;
  readonly refused?: number;
  readonly problems?: readonly string[];
}

/** runtimeRequestTimeout is 2 minutes, and the kubelet waits twice that for a sandbox. */
const sandboxLimitMs = 240_000;
const problemsKept = 5;

export async function scalePeer({ nodes, networks: count, fsync, log }: PeerScalePlan): Promise<PeerScale> {
  await using lab = await BenchLab.start({ fsync, log });
  const { upstream } = await findPeers(lab, { optimistic: false });
  if (!isPresent(upstream)) return { reason: upstream.reason };
  const names = Array.from({ length: nodes }, (_, index) => `peer-${index}`);
  const networks = slicedNetworks(count);
  await makeNodes(lab, names);
  const pods = await makePods(lab, { prefix: "peer", count: nodes, on: names });
  for (const network of networks) await cutForPeer(lab, upstream.namespace, network, names);
  log(`${upstream.name}: ${nodes} pods at once, ${count} networks each`);
  const tally = new Tally();
  const startedMs = performance.now();
  await Promise.all(pods.map((pod) => attach(upstream, pod, networks, tally)));
  const wallMs = performance.now() - startedMs;
  return {
    nodes,
    add: figuresOf(tally.tookMs, wallMs),
    allAddressesMs: rounded(wallMs, 0),
    podsServed: tally.served,
    refused: tally.refused,
    problems: [...tally.problems],
  };
}

class Tally {
  readonly tookMs: number[] = [];
  readonly problems = new Set<string>();
  served = 0;
  refused = 0;
}

async function attach(
  peer: Whereabouts,
  pod: BenchPod,
  networks: readonly SlicedNetwork[],
  tally: Tally,
): Promise<void> {
  const sandbox = attachmentOf(pod);
  const startedMs = performance.now();
  let given = 0;
  for (const [index, { name: network, range, sliceSize }] of networks.entries()) {
    if (performance.now() - startedMs > sandboxLimitMs) break;
    const contestant = peer.onSlice({ node: pod.node, network, range, sliceSize });
    const { tookMs, problem } = await contestant.call("ADD", { ...sandbox, interface: `net${index + 1}` });
    if (problem === undefined) {
      given++;
      tally.tookMs.push(tookMs);
    } else {
      tally.refused++;
      if (tally.problems.size < problemsKept) tally.problems.add(problem);
    }
  }
  if (given === networks.length && performance.now() - startedMs <= sandboxLimitMs) tally.served++;
}
