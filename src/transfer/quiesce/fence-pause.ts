// The pause that our daemons heed: `paused` in the ConfigMap holdfast-state. Only the migration that set it ends it.
import { type ClusterAccess, fetchState, readState, saveState, stateName } from "../../cluster/state.ts";
import type { Clock } from "../../kube/clock.ts";
import { anew } from "../../kube/unless.ts";
import { TransferError } from "../error.ts";

export interface FenceOptions extends ClusterAccess {
  readonly clock: Clock;
  /** The migration's. */
  readonly id: string;
}

type PauseOptions = Omit<FenceOptions, "clock">;

/** Somebody may write the ConfigMap between our read and our write; ten times in a row it is not chance. */
const triesMax = 10;

export function pauseOwner(paused: string): string | undefined {
  return /^holdfast migrate ([0-9a-z-]+):/.exec(paused)?.[1];
}

export function pause(options: PauseOptions): Promise<void> {
  const words = `holdfast migrate ${options.id}: pools are being moved; \`holdfast migrate plan\` says how to end it`;
  return set(options, (paused) => {
    if (paused === "" || pauseOwner(paused) === options.id) return words;
    const command = `kubectl -n ${options.systemNamespace} patch configmap ${stateName} --type merge -p '{"data":{"paused":""}}'`;
    const fault = `Handing out is paused already, by ${JSON.stringify(paused)}: end that first.`;
    throw new TransferError("paused-by-another", `${fault} If it is dead and its record is lost: ${command}`);
  });
}

export function unpause(options: PauseOptions): Promise<void> {
  return set(options, (paused) => (pauseOwner(paused) === options.id ? "" : paused));
}

async function set(options: PauseOptions, change: (paused: string) => string): Promise<void> {
  const { client, systemNamespace: namespace, signal } = options;
  await anew(triesMax, ["conflict", "already-exists"], async () => {
    const there = await fetchState(client, { namespace, signal });
    const paused = change(readState(there).paused);
    if (paused === (there?.data?.["paused"] ?? "")) return;
    // Nothing else is said: what is in force, and where pools are, the leader finds out.
    await saveState(client, { namespace, signal }, there, { paused });
  });
}
