// The process behind a Host: daemons, the load on them, and a look at their journals when they have ended.
import { readdirSync } from "node:fs";

import { attachmentOf, type BenchPod } from "../cni/attachment.ts";
import { Fleet } from "../cni/fleet.ts";
import { Traffic } from "../cni/traffic.ts";
import type { Held } from "./audit.ts";
import type { HostQuestion, HostTask, HostTasks, Rolled, RollOrder } from "./host-messages.ts";
import { readJournals } from "./journals.ts";

type Doers = { [Task in HostTask]: (ask: HostTasks[Task]["ask"]) => Promise<HostTasks[Task]["answer"]> };

const traffic = new Traffic();
const problemsKept = 5;
let fleet: Fleet | undefined;
/** Where the daemons keep their state, by node. */
const states = new Map<string, string>();

const doers: Doers = {
  start: async ({ nodes, folder }) => {
    const startedMs = performance.now();
    fleet = await Fleet.of(nodes, folder, { traffic });
    for (const { node } of nodes) states.set(node, fleet.stateOf(node));
    return { tookMs: performance.now() - startedMs };
  },
  roll,
  call: ({ node, command, attachment, config }) => fleet!.call(node, command, attachment, config),
  measure: async ({ collect }) => {
    if (collect) globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const descriptors = readdirSync("/proc/self/fd").length;
    return {
      rssBytes: rss,
      heapBytes: heapUsed,
      cpuMs: (user + system) / 1000,
      descriptors,
      traffic: traffic.reading(),
    };
  },
  end: async () => {
    await fleet?.[Symbol.asyncDispose]();
    fleet = undefined;
    return readJournals(states);
  },
};

async function roll({ pods, networks, atOnce }: RollOrder): Promise<Rolled> {
  const tookMs: number[] = [];
  const held: Held[] = [];
  const problems = new Set<string>();
  let refused = 0;
  const attach = async (pod: BenchPod) => {
    const sandbox = attachmentOf(pod);
    for (const [index, { name, config }] of networks.entries()) {
      const attachment = { ...sandbox, interface: `net${index + 1}` };
      const reply = await fleet!.call(pod.node, "ADD", attachment, config);
      if (reply.problem === undefined) tookMs.push(reply.tookMs);
      else refused++;
      if (reply.problem !== undefined && problems.size < problemsKept) problems.add(reply.problem);
      for (const address of reply.addresses) {
        held.push({
          node: pod.node,
          network: name,
          address,
          owner: `${pod.namespace}/${pod.name} ${attachment.interface}`,
        });
      }
    }
  };
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < pods.length; index = next++) await attach(pods[index]!);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, pods.length) }, worker));
  return { tookMs, held, refused, problems: [...problems] };
}

async function answer({ serial, task, ask }: HostQuestion): Promise<void> {
  try {
    const doer = doers[task] as (asked: typeof ask) => Promise<unknown>;
    process.send?.({ serial, answer: await doer(ask) });
  } catch (error) {
    process.send?.({ serial, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

process.on("message", (message) => void answer(message as HostQuestion));
// The benchmark has gone: nobody would end us.
process.once("disconnect", () => process.exit(1));
process.once("SIGTERM", () => process.exit(0));
