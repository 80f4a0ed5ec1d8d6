// A VM of the default network moves from node to node and keeps its address by a /32 route; the last move is measured.
// Its pods: a1 on the node of its subnet, a2 and a3 on the others, and the world outside.
import { setTimeout as pause } from "node:timers/promises";

import { LabCluster } from "../cluster/cluster.ts";
import type { OvnLab } from "../lab.ts";
import type { Migration } from "../migration.ts";
import { ovnVersions } from "../packages.ts";
import type { Probe } from "../probe.ts";
import { configuration, type Scenario, type ScenarioWishes, type Told, witnesses } from "./scenario.ts";

const home = "node1";
/** Steady answers before a move, so that what is missing afterwards is the move's. */
const steadyMs = 1000;
/** What goes wrong after a move goes wrong in this time: neighbours, and flows that come late. */
const afterMs = 2000;

const versions = [...ovnVersions].reverse();

export const away: Scenario = {
  name: "away",
  about: "from the node of its subnet to another one",
  nodes: 2,
  zones: "one",
  versions,
  run: (lab, wishes) => routed(lab, wishes, ["node2"]),
};

export const back: Scenario = {
  name: "back",
  about: "back to the node of its subnet, after it was away: the route is no more",
  nodes: 2,
  zones: "one",
  versions,
  run: (lab, wishes) => routed(lab, wishes, ["node2", "node1"]),
};

export const third: Scenario = {
  name: "third",
  about: "from one foreign node to another: the route changes its end",
  nodes: 3,
  zones: "one",
  versions,
  run: (lab, wishes) => routed(lab, wishes, ["node2", "node3"]),
};

export const postCopy: Scenario = {
  name: "post-copy",
  about: "as away, but the guest goes on before its memory is there",
  nodes: 2,
  zones: "one",
  versions,
  run: (lab, wishes) => routed(lab, wishes, ["node2"], true),
};

async function routed(lab: OvnLab, wishes: ScenarioWishes, hops: readonly string[], isPostCopy = false): Promise<Told> {
  const { signal, reactionMs, without } = wishes;
  await using cluster = await LabCluster.open(lab, { ...(without && { without }) }, signal);
  const names = lab.nodes.map(({ name }, at) => [`a${at + 1}`, name] as const);
  const [vm, ...pods] = await Promise.all([
    cluster.vm("vm1", home, 8, signal),
    ...names.map(([name, node]) => cluster.pod(name, node, 5, signal)),
  ]);
  await vm.guest.leased(signal);
  const places = Object.fromEntries(pods.map(({ plan, namespace }) => [plan.name, namespace]));
  let probes: Probe[] = [];
  let before: string[] = [];
  let moved: Migration | undefined;
  for (const [at, node] of hops.entries()) {
    if (at === hops.length - 1) {
      before = await configuration(vm.guest);
      probes = await witnesses(vm.address, { ...places, outside: lab.outside });
      await pause(steadyMs, undefined, { signal });
    }
    moved = await vm.move(node, { reactionMs, ...(isPostCopy && { postCopy: true }), signal });
  }
  await pause(afterMs, undefined, { signal });
  const reports = await Promise.all(probes.map((probe) => probe.end()));
  return { moved: moved!, probes: reports, before, after: await configuration(vm.guest) };
}
