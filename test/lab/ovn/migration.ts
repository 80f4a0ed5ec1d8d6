// QEMU's own live migration from one node to another, with whoever plays KubeVirt and the kubelets told of each moment.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { leave, type OvnGuest } from "./guest.ts";
import type { OvnNode } from "./node.ts";

/**
 * prepared: the target waits, and its port is installed; stopped: the source stands still; resumed: the guest runs on
 * the target, which is its seat from here on; completed: QEMU has said so, and the source and its port are gone.
 */
export const moments = ["prepared", "stopped", "resumed", "completed"] as const;
export type Moment = (typeof moments)[number];

export interface MigrationWishes {
  /** The logical port that it is on the target; the same one where two chassis may have it. */
  readonly port: string;
  /** The guest runs on the target before its memory is there. */
  readonly postCopy?: true;
  /** What is done at a moment. The migration goes on meanwhile, but for `prepared`, which it waits for. */
  readonly at?: Partial<Readonly<Record<Moment, () => Promise<void>>>>;
  /** From the moment until it is known to whom acts: 0, or what Kubernetes takes. */
  readonly delaysMs?: Partial<Readonly<Record<Moment, number>>>;
  readonly signal?: AbortSignal;
}

export interface Migration {
  /** As QEMU reports it. */
  readonly downtimeMs: number;
  readonly totalMs: number;
  /** From STOP to RESUME by QEMU's clock: what the network cannot undercut. */
  readonly stillMs: number;
  /** Since 1970. */
  readonly atMs: Readonly<Record<"begun" | Moment, number>>;
}

/** A guest of 128 MB takes 2 s here; a machine with ten times the load is waited for. */
const patienceMs = 120_000;

export async function migrate(guest: OvnGuest, node: OvnNode, wishes: MigrationWishes): Promise<Migration> {
  const { port, postCopy = false, at = {}, delaysMs = {} } = wishes;
  const limit = AbortSignal.timeout(patienceMs);
  const signal = wishes.signal === undefined ? limit : AbortSignal.any([wishes.signal, limit]);
  const source = guest.seat;
  const target = await guest.prepareSeat(node, port, signal);
  // Not over the wire between the nodes: the stream would delay the packets whose delay is measured.
  const stream = join(guest.plan.folder, `${target.tap}.stream`);
  const tell = async (moment: Moment) => {
    if (delaysMs[moment]) await pause(delaysMs[moment], undefined, { signal });
    await at[moment]?.();
  };
  try {
    await node.switch.installed(target.tap, signal);
    const [from, to] = [source.machine.qmp, target.machine.qmp];
    const wanted = ["events", ...(postCopy ? ["postcopy-ram"] : [])];
    const capabilities = wanted.map((capability) => ({ capability, state: true }));
    for (const qmp of [from, to]) await qmp.execute("migrate-set-capabilities", { capabilities });
    await to.execute("migrate-incoming", { uri: `unix:${stream}` });
    const preparedMs = Date.now();
    await tell("prepared");
    const begunMs = Date.now();
    await from.execute("migrate", { uri: `unix:${stream}` });
    const stopped = from.event("STOP", undefined, signal);
    const acted = [stopped.then(() => tell("stopped"))];
    if (postCopy) {
      await from.event("MIGRATION", "active", signal);
      await from.execute("migrate-start-postcopy");
    }
    const resumed = to.event("RESUME", undefined, signal);
    acted.push(
      resumed.then(async () => {
        guest.seat = target;
        await tell("resumed");
      }),
    );
    const ended = Promise.race([
      from.event("MIGRATION", "completed", signal),
      from.event("MIGRATION", "failed", signal).then(async () => {
        throw new Error(`QEMU's migration failed: ${JSON.stringify(await from.execute("query-migrate"))}`);
      }),
    ]);
    ended.catch(() => {}); // told below, after those that act
    const completed = await ended;
    const facts = (await from.execute("query-migrate")) as Record<"downtime" | "total-time", number>;
    await Promise.all(acted);
    await leave(source);
    await tell("completed");
    const stillMs = (await resumed).atMs - (await stopped).atMs;
    const atMs = {
      prepared: preparedMs,
      begun: begunMs,
      stopped: (await stopped).atMs,
      resumed: (await resumed).atMs,
      completed: completed.atMs,
    };
    return { downtimeMs: facts.downtime, totalMs: facts["total-time"], stillMs, atMs };
  } catch (error) {
    if (guest.seat !== target) await leave(target);
    throw error;
  } finally {
    rmSync(stream, { force: true });
  }
}
