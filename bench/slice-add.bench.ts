// ADD from a node's slice, shim to result: single and 64 at once, API server up and stopped; two peers beside it
//
//   npm run bench -- slice-add [--count 300] [--no-fsync]
//
// The native shim, the real daemon with its journal on the disk, and the leader, each a process, on kube-apiserver and
// etcd. Contestants call in turn. Then the API server is killed, and the same is measured again; the last round's
// addresses stay held: with the API server back they must be in the slice's object, in the journal and nowhere twice.
// Peers: host-local; whereabouts with node_slice_size (PEER_WHEREABOUTS names it), asked once while the server is down.
import { parseArgs } from "node:util";

import { until } from "../test/lab/wait.ts";
import { attachmentOf } from "./cni/attachment.ts";
import { type Absent, type Contestant, isPresent } from "./cni/contestant.ts";
import { rounded } from "./cni/figures.ts";
import { BenchLab } from "./cni/lab.ts";
import { machine } from "./cni/machine.ts";
import { against, reasonOf } from "./cni/ratio.ts";
import { progress } from "./cni/table.ts";
import { close } from "./measure.ts";
import { judgeGoals } from "./slices/add-goals.ts";
import { type AddMeasures, measureAdds } from "./slices/add-rounds.ts";
import { network, setAddStage } from "./slices/add-stage.ts";
import { assertAudited, audit } from "./slices/audit.ts";
import { readJournals } from "./slices/journals.ts";
import { SliceWatch } from "./slices/slice-watch.ts";

const { values } = parseArgs({
  allowNegative: true,
  options: { count: { type: "string", default: "300" }, fsync: { type: "boolean", default: true } },
});
const count = Number(values.count);

const log = progress("slice-add");
const host = machine();
await using lab = await BenchLab.start({ fsync: values.fsync, log });
await using set = await setAddStage(lab, Math.max(count, 256));
const { shim, daemon, anchor, whereabouts, pods, stage } = set;
const present = (entry: Contestant | Absent): Contestant[] => (isPresent(entry) ? [entry] : []);
const locals = [shim, ...present(anchor)];

log("API server up");
const up = await measureAdds({
  state: "up",
  inTurn: [...locals, daemon, ...present(whereabouts)],
  atOnce: [...locals, ...present(whereabouts)],
  pods,
  count,
});
log("API server stopped");
await lab.cluster.apiserver.kill();
const down = await measureAdds({
  state: "stopped",
  inTurn: [...locals, daemon],
  atOnce: locals,
  pods,
  count,
  keep: shim,
});
const peerWords = isPresent(whereabouts)
  ? ((await whereabouts.call("ADD", attachmentOf(pods[0]!, "alone"))).problem ?? "it gave an address")
  : undefined;
log("API server up again");
const backMs = performance.now();
await lab.cluster.apiserver.start();
const answers = heldOf(down);
// Not by their number: what was given back in the outage still stands there at first.
await until(async () => audit({ answers, journals: answers, mirrors: await SliceWatch.mirrors(lab) }).length === 0, {
  what: "the addresses of the outage to be mirrored, and no others",
});
const caughtUpMs = performance.now() - backMs;
await stage[Symbol.asyncDispose]();
const { held: journals } = await readJournals(new Map([[stage.node, stage.state]]));
assertAudited("after the outage", { answers, journals, mirrors: await SliceWatch.mirrors(lab) });
log(
  `${answers.length} addresses of the outage mirrored, ${(caughtUpMs / 1000).toFixed(1)} s after the API server was started`,
);

function heldOf({ kept: { attachments, load } }: AddMeasures) {
  return attachments.flatMap(({ pod, interface: port }, index) =>
    (load?.replies[index]?.addresses ?? []).map((address) => ({
      node: pod.node,
      network: network.name,
      address,
      owner: `${pod.namespace}/${pod.name} ${port}`,
    })),
  );
}

const figuresIn = ({ oneAtATime, manyAtOnce }: AddMeasures, name: string) => {
  const [one, many] = [oneAtATime.get(name), manyAtOnce.get(name)];
  return {
    ...(one && { add: one.add.figures, del: one.del.figures, refused: one.add.refused + one.del.refused }),
    ...(many && { addAtOnce: many.add.figures, delAtOnce: many.del.figures, refusedAtOnce: many.add.refused }),
  };
};
const mine = { up: figuresIn(up, shim.name), stopped: figuresIn(down, shim.name) };
const local = { up: figuresIn(up, "host-local"), stopped: figuresIn(down, "host-local") };
const peer = figuresIn(up, "whereabouts");
const { goals, met } = judgeGoals({
  ours: [mine.up, mine.stopped],
  hostLocal: [local.up, local.stopped],
  whereabouts: peer,
});
close({
  bench: "slice-add",
  ...against(mine.up.add!.p50Ms, local.up.add?.p50Ms, { better: "lower", reason: reasonOf(anchor) }),
  unit: "ms, p50 of one ADD from a node's slice, exec to exit; the peer is host-local",
  ...mine,
  daemon: { up: figuresIn(up, daemon.name), stopped: figuresIn(down, daemon.name) },
  hostLocal: isPresent(anchor) ? local : reasonOf(anchor),
  whereabouts: isPresent(whereabouts) ? { up: peer, stopped: peerWords } : reasonOf(whereabouts),
  caughtUpMs: rounded(caughtUpMs, 0),
  goals,
  met,
  goalsMet: Object.values(met).every((each) => each !== false),
  fsync: values.fsync,
  machine: host,
});
