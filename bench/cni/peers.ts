// The peers of a benchmark that were given by path, and what is said of those that were not.
import { type Absent, type Contestant, isPresent } from "./contestant.ts";
import type { BenchLab } from "./lab.ts";
import { type Whereabouts, whereabouts } from "./whereabouts.ts";

export interface Peers {
  readonly upstream: Whereabouts | Absent;
  readonly fork: Whereabouts | Absent;
}

/** `optimistic`: the rewrite's mode; without its lease it is faster one at a time, with it under many at once. */
export async function findPeers(lab: BenchLab, { optimistic }: { optimistic: boolean }): Promise<Peers> {
  const folder = `${lab.cluster.folder}/peers`;
  return {
    upstream: await whereabouts(lab, {
      name: "whereabouts",
      variable: "PEER_WHEREABOUTS",
      folder: `${folder}/whereabouts`,
    }),
    fork: await whereabouts(lab, {
      name: "whereabouts-fork",
      variable: "PEER_WHEREABOUTS_FORK",
      folder: `${folder}/whereabouts-fork`,
      optimistic,
    }),
  };
}

/** Those that are there, each on a range of its own: `10.N.0.0/16`, from `first` on. */
export function peersOn({ upstream, fork }: Peers, first: number): Contestant[] {
  return [upstream, fork].filter(isPresent).map((peer, index) => peer.on(`10.${first + index}.0.0/16`));
}
