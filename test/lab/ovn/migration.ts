// QEMU's own live migration from one node to another, with whoever plays KubeVirt and the kubelets told of each moment.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import type { Qmp } from "../guest/qmp.ts";
import { until } from "../wait.ts";
import type { GuestWishes, OvnGuest, Seat } from "./guest.ts";
import type { OvnNode } from "./node.ts";

/**
 * prepared: the target waits, and its port is installed; stopped: the source stands still; resumed: the guest runs on
 * the target, which is its seat from here on; completed: QEMU has said so, and the source and its port are gone.
 */
type Moment = "prepared" | "stopped" | "resumed" | "completed";

/** `port`: the logical port that it is on the target; the same one where two chassis may have it. */
export interface MigrationWishes extends Pick<GuestWishes, "port" | "portVersion"> {
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
  const limit = AbortSignal.timeout(patienceMs);
  const signal = wishes.signal === undefined ? limit : AbortSignal.any([wishes.signal, limit]);
  const source = guest.seat;
  const target = await guest.prepareSeat(node, wishes, signal);
  try {
    await node.switch.installed(target.tap, signal);
    const migration = await handOver(guest, target, wishes, signal);
    await guest.leave(source);
    await tell(wishes, "completed", signal);
    return migration;
  } catch (error) {
    if (guest.seat !== target) await guest.leave(target);
    throw error;
  }
}

async function handOver(
  guest: OvnGuest,
  target: Seat,
  wishes: MigrationWishes,
  signal: AbortSignal,
): Promise<Migration> {
  const [from, to] = [guest.machine.qmp, target.machine.qmp];
  const stream = await listen(guest, target, wishes.postCopy ? ["postcopy-ram"] : []);
  const preparedMs = Date.now();
  await tell(wishes, "prepared", signal);
  const begunMs = Date.now();
  const before = from.events.length; // another migration of this QEMU may have failed
  const stopped = from.event("STOP", undefined, signal, before);
  const resumed = to.event("RESUME", undefined, signal);
  const all = [
    from.event("MIGRATION", "completed", signal, before),
    stopped.then(() => tell(wishes, "stopped", signal)),
    resumed.then(() => {
      guest.seat = target;
      return tell(wishes, "resumed", signal);
    }),
  ] as const;
  const failed = from.event("MIGRATION", "failed", signal, before).then(async () => {
    throw new Error(`QEMU's migration failed: ${JSON.stringify(await from.execute("query-migrate"))}`);
  });
  for (const each of [...all, failed]) each.catch(() => {}); // the first to fail is told, the others fail with it
  try {
    await from.execute("migrate", { uri: `unix:${stream}` });
    if (wishes.postCopy) {
      await from.event("MIGRATION", "active", signal, before);
      await from.execute("migrate-start-postcopy");
    }
    const [completed] = await Promise.race([Promise.all(all), failed]);
    const { downtime, "total-time": totalMs } = await sums(from);
    const [stoppedMs, resumedMs] = [(await stopped).atMs, (await resumed).atMs];
    const atMs = {
      prepared: preparedMs,
      begun: begunMs,
      stopped: stoppedMs,
      resumed: resumedMs,
      completed: completed.atMs,
    };
    return { downtimeMs: downtime, totalMs, stillMs: resumedMs - stoppedMs, atMs };
  } finally {
    rmSync(stream, { force: true });
  }
}

/** The target waits for the memory at the socket that is returned; both tell of their events. */
async function listen(guest: OvnGuest, target: Seat, more: readonly string[] = []): Promise<string> {
  // Not over the wire between the nodes: the stream would delay the packets whose delay is measured.
  const stream = join(guest.plan.folder, `${target.tap}.stream`);
  const capabilities = ["events", ...more].map((capability) => ({ capability, state: true }));
  for (const { qmp } of [guest.machine, target.machine])
    await qmp.execute("migrate-set-capabilities", { capabilities });
  await target.machine.qmp.execute("migrate-incoming", { uri: `unix:${stream}` });
  return stream;
}

export interface FailureWishes extends Pick<GuestWishes, "port" | "portVersion"> {
  /** What is done while the memory is on its way; then the target dies. */
  readonly underWay: () => Promise<void>;
  readonly signal?: AbortSignal;
}

/** So slow that no guest's memory is there before the target dies. */
const slowBytesPerSecond = 1024 * 1024;
/** QEMU's own. */
const usualBytesPerSecond = 128 * 1024 * 1024;

/** A migration whose target dies before the guest runs there; resolves when the source's QEMU has seen it. */
export async function failToMigrate(guest: OvnGuest, node: OvnNode, wishes: FailureWishes): Promise<void> {
  const limit = AbortSignal.timeout(patienceMs);
  const signal = wishes.signal === undefined ? limit : AbortSignal.any([wishes.signal, limit]);
  const target = await guest.prepareSeat(node, wishes, signal);
  const { qmp } = guest.machine;
  const limitTo = (bytes: number) => qmp.execute("migrate-set-parameters", { "max-bandwidth": bytes });
  try {
    await node.switch.installed(target.tap, signal);
    const stream = await listen(guest, target);
    const before = qmp.events.length;
    await limitTo(slowBytesPerSecond);
    await qmp.execute("migrate", { uri: `unix:${stream}` });
    await qmp.event("MIGRATION", "active", signal, before);
    await wishes.underWay();
    await guest.leave(target);
    await qmp.event("MIGRATION", "failed", signal, before);
    await limitTo(usualBytesPerSecond);
    rmSync(stream, { force: true });
  } catch (error) {
    await guest.leave(target);
    throw error;
  }
}

async function tell({ at = {}, delaysMs = {} }: MigrationWishes, moment: Moment, signal: AbortSignal): Promise<void> {
  if (delaysMs[moment]) await pause(delaysMs[moment], undefined, { signal });
  await at[moment]?.();
}

interface Sums {
  readonly downtime: number;
  readonly "total-time": number;
}

/** QEMU tells of the end a moment before it has counted: its sums are 0, or not there, until then. */
async function sums(qmp: Qmp): Promise<Sums> {
  const counted = async () => {
    const found = (await qmp.execute("query-migrate")) as Partial<Sums>;
    return found["total-time"] && found.downtime !== undefined && (found as Sums);
  };
  return await until(async () => (await counted()) || undefined, {
    what: "QEMU to count a migration's downtime",
    everyMs: 2,
  });
}
