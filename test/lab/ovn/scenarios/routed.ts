// A VM of the default network moves from node to node and keeps its address by a /32 route; the last move is measured.
import type { OvnLab } from "../lab.ts";
import { ovnVersions } from "../packages.ts";
import type { Scenario, ScenarioWishes, Told } from "./scenario.ts";
import { type Cast, Stage, vm1 } from "./stage.ts";

export const newestFirst = [...ovnVersions].reverse();
const both = ["one", "interconnected"] as const;

export const away: Scenario = {
  name: "away",
  about: "from the node of its subnet to another one",
  nodes: 2,
  zones: both,
  versions: newestFirst,
  run: (lab, wishes) => routed(lab, wishes, ["node2"]),
};

export const back: Scenario = {
  name: "back",
  about: "back to the node of its subnet, after it was away: the route is no more",
  nodes: 2,
  zones: both,
  versions: newestFirst,
  run: (lab, wishes) => routed(lab, wishes, ["node2", "node1"]),
};

export const third: Scenario = {
  name: "third",
  about: "from one foreign node to another: the route changes its end",
  nodes: 3,
  zones: both,
  versions: newestFirst,
  run: (lab, wishes) => routed(lab, wishes, ["node2", "node3"]),
};

export const postCopy: Scenario = {
  name: "post-copy",
  about: "as away, but the guest goes on before its memory is there",
  nodes: 2,
  zones: both,
  versions: newestFirst,
  run: (lab, wishes) => routed(lab, wishes, ["node2"], { isPostCopy: true }),
};

export const dualStack: Scenario = {
  name: "dual-stack",
  about: "as away, with a guest that has IPv6 too: by DHCPv6, and a router that tells of itself",
  nodes: 2,
  zones: both,
  versions: newestFirst,
  run: (lab, wishes) => routed(lab, wishes, ["node2"], { guestFamilies: [4, 6] }),
};

export const ipv6: Scenario = {
  name: "ipv6",
  about: "the same in a cluster that has no IPv4 at all",
  nodes: 2,
  zones: both,
  versions: newestFirst,
  run: (lab, wishes) => routed(lab, wishes, ["node2"], { families: [6], guestFamilies: [6] }),
};

interface RouteWishes extends Partial<Omit<Cast, "vms">> {
  readonly isPostCopy?: boolean;
}

async function routed(
  lab: OvnLab,
  wishes: ScenarioWishes,
  hops: readonly string[],
  { isPostCopy = false, ...cast }: RouteWishes = {},
): Promise<Told> {
  const { signal, reactionMs } = wishes;
  await using stage = await Stage.open(lab, wishes, { vms: [vm1], ...cast });
  const [vm] = stage.vms;
  for (const [at, node] of hops.entries()) {
    if (at === hops.length - 1) await stage.watch.begin();
    stage.watch.moved(vm!, await vm!.move(node, { reactionMs, ...(isPostCopy && { postCopy: true }), signal }));
  }
  return await stage.watch.end();
}
