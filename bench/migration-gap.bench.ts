// A live migration's silence beyond QEMU's downtime: routed and multichassis, beside one that tells no neighbour
//
//   npm run bench -- migration-gap [--moves 20] [--peer-moves 2] [--ovn 25.03]
//
// Real OVN, Open vSwitch in userspace and QEMU without KVM on this machine (docs/testing.md, "The OVN lab"). One guest
// moves to and fro; a pod on each of two nodes and the world outside (multichassis: the pods alone) have one TCP
// connection and pings of 10 ms with it all the time. Goals: 95 of 100 moves within 200 ms routed, 100 ms multichassis,
// at the place and for the kind that has the worst of it. The peer is the same without a word to neighbours.
import { parseArgs } from "node:util";

import { type OvnLab, ovnLab } from "../test/lab/ovn/lab.ts";
import { ovnVersions } from "../test/lab/ovn/packages.ts";
import { openSpanning } from "../test/lab/ovn/scenarios/multichassis.ts";
import type { Part } from "../test/lab/ovn/scenarios/scenario.ts";
import { Stage, vm1 } from "../test/lab/ovn/scenarios/stage.ts";
import { rounded } from "./cni/figures.ts";
import { progress } from "./cni/table.ts";
import { close } from "./measure.ts";
import { phases, series } from "./ovn/series.ts";

const { values } = parseArgs({
  options: {
    moves: { type: "string", default: "20" },
    "peer-moves": { type: "string", default: "2" },
    ovn: { type: "string", default: ovnVersions.at(-1)! },
  },
});
const goals = { routedMs: 200, multichassisMs: 100 };
/** The last word to neighbours is said 4 s after a move. */
const restMs = 4500;
/** Without a word to neighbours, what it takes until the last connection finds its way or gives up. */
const peerRestMs = 60_000;
const version = ovnVersions.find((each) => each === values.ovn);
if (version === undefined) throw new RangeError(`--ovn: ${ovnVersions.join(" or ")}`);
const log = progress("migration-gap");

/** A lab of its own for each, so that none finds what another has left in caches. */
async function inLab<T>(run: (lab: OvnLab, signal: AbortSignal) => Promise<T>): Promise<T> {
  const signal = AbortSignal.timeout(30 * 60_000);
  await using lab = await ovnLab({ nodes: 2, zones: "one", version: version!, signal, log });
  return await run(lab, signal);
}

const routed = (moves: number, rest: number, ...more: readonly Part[]) =>
  inLab(async (lab, signal) => {
    const without = new Set<Part>(["bystanders", ...more]);
    await using stage = await Stage.open(lab, { signal, without, reactionMs: 0 }, { vms: [vm1] });
    return (await series({ vm: stage.vms[0]!, watch: stage.watch, moves, restMs: rest, signal, log })).figures;
  });
const multichassis = (moves: number) =>
  inLab(async (lab, signal) => {
    const without = new Set<Part>(["bystanders"]);
    await using stage = await openSpanning(lab, { signal, without, reactionMs: 0 });
    return (await series({ vm: stage.vm, watch: stage.watch, moves, restMs, signal, log })).figures;
  });

const followed = (moves: number) =>
  inLab(async (lab, signal) => {
    const without = new Set<Part>(["bystanders"]);
    await using stage = await Stage.open(lab, { signal, without, reactionMs: 0 }, { vms: [vm1] });
    const settled = (limit: AbortSignal) => stage.cluster.settled(limit);
    return await phases({ vm: stage.vms[0]!, moves, restMs: 500, signal, settled });
  });

const switchOvers = await followed(8);
log(
  `written and followed after ms: ${switchOvers.map(({ writtenMs, followedMs }) => `${writtenMs}, ${followedMs}`).join("; ")}`,
);
const all = {
  routed: await routed(Number(values.moves), restMs),
  multichassis: await multichassis(Number(values.moves)),
  "without announcements": await routed(Number(values["peer-moves"]), peerRestMs, "announcements"),
};
for (const [name, { moves, stillP50Ms, places, lostConnections, load }] of Object.entries(all)) {
  console.log(`\n${name}: ${moves} moves, still for ${stillP50Ms} ms (p50), ${lostConnections} lost, load ${load}`);
  for (const { from, kind, p50Ms, p95Ms, maxMs } of places)
    console.log(`  ${kind.padEnd(4)} from ${from.padEnd(7)} p50 ${p50Ms} ms, p95 ${p95Ms} ms, most ${maxMs} ms`);
}
const [ours, peer] = [all.routed.worstP95Ms, all["without announcements"].worstP95Ms];
close({
  bench: "migration-gap",
  ours,
  peer,
  ratio: rounded(peer / ours),
  unit: "ms beyond QEMU's downtime, p95 at the worst place",
  ovn: version,
  goals,
  switchOvers,
  met: ours <= goals.routedMs && all.multichassis.worstP95Ms <= goals.multichassisMs,
  ...all,
});
